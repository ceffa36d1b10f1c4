// Package kubeflow checks examples/mpijob.yaml against the types of Kubeflow's MPI operator, and by the rules with
// which the operator refuses a job. It is a module of its own, for what it depends on: make mpijob-check.
package kubeflow

import (
	"os"
	"strings"
	"testing"

	v2beta1 "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	"github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/validation"
	"sigs.k8s.io/yaml"
)

// check says what is wrong with a job. A field that the types do not have is an error.
func check(text []byte) error {
	var job v2beta1.MPIJob
	if err := yaml.UnmarshalStrict(text, &job); err != nil {
		return err
	}
	v2beta1.SetDefaults_MPIJob(&job)
	return validation.ValidateMPIJob(&job).ToAggregate()
}

func TestMPIJob(t *testing.T) {
	text, err := os.ReadFile("../mpijob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := check(text); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []struct{ from, to string }{
		{"slotsPerWorker", "slotsPerWorkers"},
		{"mpiReplicaSpecs", "mpiReplicaSpec"},
		{"backoffLimit: 10", "backoffLimit: ten"},
		{"containers:", "container:"},
		{"replicas: 1", "replicas: 2"}, // the launcher is one
		{"restartPolicy: OnFailure", "restartPolicy: Sometimes"},
		{"mountPath: /work", "mountpath: [/work]"},
		{"mpiImplementation: OpenMPI", "mpiImplementation: MVAPICH"},
		{"name: hogwild\nspec", "name: Hog_wild\nspec"},
	} {
		changed := strings.Replace(string(text), wrong.from, wrong.to, 1)
		if changed == string(text) {
			t.Errorf("the example has no %q", wrong.from)
		}
		if check([]byte(changed)) == nil {
			t.Errorf("%q in the place of %q is not refused", wrong.to, wrong.from)
		}
	}
}
