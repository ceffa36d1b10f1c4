// Sorts the table of runs by the column whose head is pressed, and shows the rows that have all words of a text.
"use strict";
(() => {
  const table = document.querySelector("#runs");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];

  const key = (row, column) => {
    const cell = row.cells[column];
    return "key" in cell.dataset ? Number(cell.dataset.key) : cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1; // what has no number comes last
    return a.localeCompare(b, undefined, {numeric: true});
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const h of heads) h.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sorted = [...rows].sort((a, b) => compare(key(a, column), key(b, column)));
      body.append(...(down ? sorted.reverse() : sorted));
    });
  });

  const filter = document.querySelector("#filter");
  const count = document.querySelector("#count");
  filter.closest("p").hidden = false;
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const row of rows) row.hidden = !words.every((w) => row.textContent.toLowerCase().includes(w));
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  });
})();
