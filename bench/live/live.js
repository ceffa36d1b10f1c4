// Keeps the page as the run is. The server sends the whole body of the page, so that a
// browser that was away has missed nothing; what the reader chose is kept beside it.
"use strict";
(() => {
  const run = document.getElementById("run");
  const state = document.getElementById("state");
  const pause = document.getElementById("pause");
  const smooth = document.getElementById("smooth");
  const value = document.getElementById("value");
  let held = null; // the newest body, while the page is paused
  let ended = false;
  let pointer = null; // where it is

  const say = (text) => {
    state.textContent = text;
    state.className = text.split(":")[0];
  };

  const arrange = () => {
    for (const path of run.querySelectorAll("figure path[style*='fill:none']")) draw(path);
    for (const title of run.querySelectorAll("circle.hover title")) { // or the browser would show it too
      title.parentNode.dataset.text = title.textContent;
      title.remove();
    }
    point();
  };

  // A line of data, or where that was asked for its exponential mean: on a linear axis that of
  // the values. Its points stay where they are. Lines of two points are axes and legends.
  const draw = (path) => {
    const as = path.dataset.d ??= path.getAttribute("d");
    const points = as.slice(1).split("L").map((p) => p.split(",").map(Number));
    if (points.length < 3) return;
    if (smooth.getAttribute("aria-pressed") !== "true") return path.setAttribute("d", as);
    let sum = 0, weight = 0;
    path.setAttribute("d", "M" + points.map(([x, y]) => {
      sum = 0.8 * sum + 0.2 * y;
      weight = 0.8 * weight + 0.2;
      return x + "," + (sum / weight).toFixed(2);
    }).join("L"));
  };

  // The values at the point of the figure that is nearest to the pointer, of all lines.
  const point = () => {
    const figure = pointer && document.elementFromPoint(pointer.x, pointer.y)?.closest("#run figure");
    const near = [...(figure?.querySelectorAll("circle.hover") ?? [])].map((c) => {
      const box = c.getBoundingClientRect();
      return { x: box.x + box.width / 2, text: c.dataset.text };
    });
    const away = Math.min(...near.map((n) => Math.abs(n.x - pointer.x)));
    value.hidden = !(away < 30);
    if (value.hidden) return;
    value.textContent = near.filter((n) => Math.abs(n.x - pointer.x) < away + 2).map((n) => n.text).join("\n");
    value.style.left = Math.min(pointer.x + 14, innerWidth - value.offsetWidth - 4) + "px";
    value.style.top = Math.max(pointer.y - value.offsetHeight - 8, 0) + "px";
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

  run.addEventListener("pointermove", (event) => { pointer = { x: event.clientX, y: event.clientY }; point(); });
  run.addEventListener("pointerleave", () => { pointer = null; point(); });

  smooth.addEventListener("click", () => {
    smooth.setAttribute("aria-pressed", smooth.getAttribute("aria-pressed") !== "true");
    arrange();
  });

  pause.addEventListener("click", () => {
    const now = !paused();
    pause.setAttribute("aria-pressed", now);
    pause.textContent = now ? "resume" : "pause";
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
    say("ended: `hogwild report` writes this page to a file");
  });
  source.addEventListener("error", () => { if (!ended) say(source.readyState === EventSource.CLOSED ? "refused: too many windows, reload later" : "lost: reconnecting"); });
})();
