// A click on a column's head sorts the table by it, and turns the order at the next click. Cells without a number go last.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows];
      const numeric = rows.some((row) => row.cells[column].dataset.v !== undefined);
      const key = (row) => {
        const cell = row.cells[column];
        return numeric ? (cell.dataset.v === undefined ? null : Number(cell.dataset.v)) : cell.textContent;
      };
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === null || y === null) return (x === null) - (y === null);
        const order = numeric ? x - y : x.localeCompare(y, "en", { numeric: true });
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}

// Sections are folded; a link to one unfolds it, and so does printing.
const folded = [...document.querySelectorAll("details")];
const unfold = () => folded.forEach((one) => { one.open = true; });
const show = () => {
  const found = location.hash && document.getElementById(location.hash.slice(1));
  if (found && found.querySelector("details")) found.querySelector("details").open = true;
};
document.getElementById("unfold").addEventListener("click", unfold);
window.addEventListener("hashchange", show);
window.addEventListener("beforeprint", unfold);
show();

// A table that is cut at the right says so.
const cut = (box) => box.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 2);
const boxes = [...document.querySelectorAll(".box")];
const look = () => boxes.forEach(cut);
boxes.forEach((box) => box.addEventListener("scroll", () => cut(box)));
folded.forEach((one) => one.addEventListener("toggle", look));
window.addEventListener("resize", look);
look();
