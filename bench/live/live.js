// Keeps the page as the run is. The server sends the whole body of the page, so that a
// browser that was away has missed nothing; what the reader chose is kept beside it.
"use strict";
(() => {
  const run = document.getElementById("run");
  const state = document.getElementById("state");
  const across = document.getElementById("across");
  const pause = document.getElementById("pause");
  let held = null; // the newest body, while the page is paused
  let ended = false;

  const say = (text) => {
    state.textContent = text;
    state.className = text.split(":")[0];
  };

  // Opened parts stay open, and what is being read stays where it is.
  const show = (body) => {
    const open = [...run.querySelectorAll("details")].map((d) => d.open);
    const x = window.scrollX, y = window.scrollY;
    run.innerHTML = body;
    run.querySelectorAll("details").forEach((d, i) => { if (i < open.length) d.open = open[i]; });
    window.scrollTo(x, y);
  };

  const paused = () => pause.getAttribute("aria-pressed") === "true";

  const take = (event) => {
    if (paused()) held = event.data;
    else show(event.data);
  };

  // Figures have names such as loss-against-time; the style hides those of the other kind.
  const choose = (what) => {
    run.dataset.against = what;
    across.textContent = what === "time" ? "show against examples" : "show against time";
  };

  across.addEventListener("click", () => choose(run.dataset.against === "time" ? "examples" : "time"));

  pause.addEventListener("click", () => {
    const now = !paused();
    pause.setAttribute("aria-pressed", now);
    pause.textContent = now ? "go on" : "pause";
    if (!now && held !== null) {
      show(held);
      held = null;
    }
    if (!ended) say(now ? "paused" : "live");
  });

  choose("time");
  document.getElementById("controls").hidden = false;

  const source = new EventSource("events");
  source.addEventListener("open", () => say(paused() ? "paused" : "live"));
  source.addEventListener("body", take);
  source.addEventListener("ended", (event) => {
    ended = true;
    source.close(); // or it would ask again and again
    take(event);
    say("ended: `hogwild report` shows this page again");
  });
  source.addEventListener("error", () => { if (!ended) say("lost: reconnecting"); });
})();
