package score

import (
	"fmt"
	"slices"
	"strings"

	"hogwild/hogwild/model"
	"hogwild/internal/human"
)

const mostNamed = 8 // tensors in a line

// Unused returns the names of the tensors that the first epoch has not changed, and a line about them.
func Unused(params []model.Param, unmoved []int) (names []string, line string) {
	for _, tensor := range unmoved {
		names = append(names, params[tensor].Name)
	}
	if !slices.ContainsFunc(params, func(p model.Param) bool { return !p.Fixed && !slices.Contains(names, p.Name) }) {
		return names, "the first epoch has changed no weight: no gradient reaches the model, or the learning rate is too small"
	}
	they := "they are"
	if len(names) == 1 {
		they = "it is"
	}
	return names, fmt.Sprintf("%s received no gradient in the first epoch, or one too small to matter: %s as initialised", listed(names), they)
}

// listed returns the first few names.
func listed(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %s", strings.Join(names[:mostNamed], ", "), human.Plural(more, "other tensor"))
	}
	return strings.Join(names, ", ")
}
