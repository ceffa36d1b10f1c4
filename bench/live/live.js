// Keeps the page as the run is. The server sends the whole body of the page, so that a
// browser that was away has missed nothing; what the reader chose is kept beside it.
"use strict";
(() => {
  const run = document.getElementById("run");
  const state = document.getElementById("state");
  const across = document.getElementById("across");
  const pause = document.getElementById("pause");
  let against = "time";
  let held = null; // the newest body, while the page is paused
  let ended = false;

  const say = (text) => {
    state.textContent = text;
    state.className = text.split(":")[0];
  };

  // Of a figure that there is against time and against examples, one is shown. Their names
  // are loss-against-time and loss-against-examples.
  const arrange = () => {
    for (const figure of run.querySelectorAll("figure")) {
      const [, what, other] = figure.id.match(/^(.*)-against-(time|examples)$/) || [];
      figure.hidden = what !== undefined && other !== against && document.getElementById(what + "-against-" + against) !== null;
    }
    across.textContent = against === "time" ? "show against examples" : "show against time";
  };

  // What is being read stays where it is, and the figure that was made larger stays so: the
  // new one has its name, which is the address's, but must be sought again.
  const show = (body) => {
    const x = window.scrollX, y = window.scrollY;
    run.innerHTML = body;
    arrange();
    if (location.hash) location.replace(location.hash);
    window.scrollTo(x, y);
  };

  const paused = () => pause.getAttribute("aria-pressed") === "true";

  const take = (event) => {
    if (paused()) held = event.data;
    else show(event.data);
  };

  across.addEventListener("click", () => {
    against = against === "time" ? "examples" : "time";
    arrange();
  });

  pause.addEventListener("click", () => {
    const now = !paused();
    pause.setAttribute("aria-pressed", now);
    pause.textContent = now ? "go on" : "pause";
    if (!now && held !== null) {
      show(held);
      held = null;
    }
    if (source.readyState === EventSource.OPEN) say(now ? "paused" : "live");
  });

  arrange();
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
