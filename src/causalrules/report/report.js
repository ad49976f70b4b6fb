"use strict";
document.documentElement.classList.add("js");
const table = document.querySelector(".rules");
const bodies = Array.from(table.tBodies);
const filter = document.querySelector("#filter");
const shown = document.querySelector("#shown");
const kept = Array.from(document.querySelectorAll("[data-keeps]"));

function show() {
  const wanted = filter.value.trim().toLowerCase();
  let count = 0;
  for (const body of bodies) {
    const left = kept.some((box) => !box.checked && body.dataset.less === box.dataset.keeps);
    const hidden = left || !body.dataset.rule.toLowerCase().includes(wanted);
    body.classList.toggle("hidden", hidden);
    count += hidden ? 0 : 1;
  }
  shown.textContent = count + " of " + bodies.length + " shown";
}

function toggle(body) {
  const open = body.querySelector("tr.detail").classList.toggle("open");
  body.querySelector(".open-rule").setAttribute("aria-expanded", String(open));
}

for (const body of bodies) {
  body.querySelector("tr.head").addEventListener("click", () => {
    if (!String(window.getSelection())) toggle(body);
  });
}

for (const button of table.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th");
    const name = button.dataset.sort;
    const first = name === "place" || name === "rule" ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = heading.getAttribute("aria-sort") === first ? other : first;
    for (const each of table.querySelectorAll("th[aria-sort]")) each.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const key = (body) => (name === "rule" ? body.dataset.rule : Number(body.dataset[name]));
    const compare = (a, b) => {
      if (name === "rule") return sign * key(a).localeCompare(key(b));
      if (Number.isNaN(key(a)) || Number.isNaN(key(b))) return Number.isNaN(key(a)) - Number.isNaN(key(b));
      return sign * (key(a) - key(b)) || a.dataset.place - b.dataset.place;
    };
    table.append(...bodies.slice().sort(compare));
  });
}

filter.addEventListener("input", show);
for (const box of kept) box.addEventListener("change", show);
show();
