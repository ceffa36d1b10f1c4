package live

import (
	"bytes"
	"context"
	"image/png"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is a page of headless Chromium.
type browser struct {
	*testing.T
	ctx     context.Context
	console iter.Seq2[chromedp.ConsoleMessage, error]
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("chromium is not on PATH: install Debian's package")
		}
		t.Skip("chromium is not on PATH")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // all takes two seconds; a hang must be seen
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1200, 900),
		chromedp.WSURLReadTimeout(time.Minute))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return &browser{t, ctx, chromedp.Console(ctx)}
}

// complaints returns what the console has said so far: errors of scripts, what the policy forbids,
// what is not found.
func (b *browser) complaints() (all []string) {
	b.Helper()
	const last = "that is all"
	run(b, chromedp.Evaluate[chromedp.Void](`console.log("`+last+`")`))
	for m, err := range b.console {
		if err != nil {
			b.Fatal(err)
		}
		if m.Text == last {
			break
		}
		all = append(all, m.String()+" "+m.URL)
	}
	return all
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	run(b, chromedp.Steps(steps...))
}

// run runs an action and returns its value.
func run[T any](b *browser, a chromedp.Action[T]) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, a)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// until waits until an expression of JavaScript is true.
func (b *browser) until(expression string) {
	b.Helper()
	run(b, chromedp.Poll[bool](expression))
}

// is checks that an expression of JavaScript is true now.
func (b *browser) is(expression string) {
	b.Helper()
	if !run(b, chromedp.Evaluate[bool](expression)) {
		b.Errorf("not so: %s", expression)
	}
}

// shoot is the picture of what is seen, kept by go test -artifacts.
func (b *browser) shoot(name string) []byte {
	b.Helper()
	picture := run(b, chromedp.CaptureScreenshot())
	if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.ArtifactDir(), name), picture, 0o666); err != nil {
		b.Fatal(err)
	}
	return picture
}

// readValues points at a line and smooths it.
func readValues(b *browser) {
	b.Helper()
	// The values at the pointer, also after the page has changed.
	over := `document.querySelector("#loss-against-time circle.hover").dispatchEvent(new PointerEvent("pointermove", {bubbles: true,
		clientX: document.querySelector("#loss-against-time circle.hover").getBoundingClientRect().x + 5,
		clientY: document.querySelector("#loss-against-time circle.hover").getBoundingClientRect().y + 5}))`
	b.is(over)
	b.is(`!document.getElementById("value").hidden && document.getElementById("value").textContent.includes("4 at 1")`)
	b.shoot("hover.png")

	// Smoothing bends the line and leaves its first point; a second click gives the values back.
	path := `[...document.querySelectorAll("#loss-against-time path")].find(p => p.getAttribute("d").split("L").length > 2).getAttribute("d")`
	raw := run(b, chromedp.Evaluate[string](path))
	b.do(chromedp.Click(chromedp.CSS("#smooth")))
	smoothed := run(b, chromedp.Evaluate[string](path))
	if raw == smoothed {
		b.Error("smoothing changes nothing")
	}
	b.do(chromedp.Click(chromedp.CSS("#smooth")))
	if got := run(b, chromedp.Evaluate[string](path)); got != raw {
		b.Errorf("after smoothing the line is %s, was %s", got, raw)
	}
}

// TestBrowser looks at a run in a browser as a user does.
func TestBrowser(t *testing.T) {
	b := openBrowser(t)
	folder, c := newRun(t), newClock()
	grow := func(n int) {
		folder.second(float64(n)-0.5, 60*n, 40*n)
		folder.epoch(n, 2/float64(n))
	}
	for n := range 3 {
		grow(n + 1)
	}
	s := newServer(folder.path, c.now)
	shown := func(id string) string { return `document.getElementById("` + id + `").getClientRects().length > 0` }
	body := func() string { return run(b, chromedp.InnerHTML(chromedp.CSS("#run"))) }

	b.do(chromedp.Navigate(serve(t, s)), chromedp.WaitVisible(chromedp.CSS("#run figure svg")))
	b.until(`document.getElementById("state").textContent == "live"`)
	b.is(`document.getElementById("run").firstElementChild.id == "progress"`)
	b.is(shown("loss-against-time"))
	b.is(shown("rate-against-time"))
	b.is(`document.querySelector("#part-results").getBoundingClientRect().top < document.querySelector("nav").getBoundingClientRect().top`)
	b.shoot("time.png")

	readValues(b)

	// What was chosen stays when the run goes on, and the page stays where it was read.
	b.is(`location.hash = "loss-against-time", window.scrollTo(0, 40), document.getElementById("run").lastElementChild.id = "old", true`)
	b.is(`window.scrollY == 40`)
	grow(4)
	s.renew()
	b.until(`!document.getElementById("old")`)
	b.is(`window.scrollY == 40`)
	b.is(shown("loss-against-time"))
	b.is(`document.getElementById("loss-against-time").matches(":target")`) // it was made larger

	// While it is paused nothing changes, and nothing is lost.
	b.do(chromedp.Click(chromedp.CSS("#pause")))
	was := body()
	folder.write("metrics.jsonl", epochLine(4, 0.25))
	s.renew()
	s.end() // the end is seen in any case
	b.until(`document.getElementById("state").textContent.startsWith("ended")`)
	if body() != was {
		t.Error("the page changes while it is paused")
	}
	b.do(chromedp.Click(chromedp.CSS("#pause")))
	if body() == was {
		t.Error("what came while the page was paused is not shown after it")
	}
	b.is(`document.getElementById("state").textContent.startsWith("ended")`)
	b.shoot("ended.png")

	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the console complains: %q", bad)
	}
}
