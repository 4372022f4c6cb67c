"use strict";
// The page is complete without this: here tables get sorted and paged, examples filtered.

// Shows `size` of many elements at a time; `matching` says which of them count.
function pager(elements, after, size, what) {
  let page = 0, matching = () => true;
  const bar = document.createElement("div"), text = document.createElement("span");
  const buttons = [["Previous", -1], ["Next", 1]].map(([name, step]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.setAttribute("aria-label", `${name} ${what}`);
    button.addEventListener("click", () => { page += step; show(); });
    return button;
  });
  bar.className = "pager";
  text.setAttribute("aria-live", "polite");
  bar.append(...buttons, text);
  after.after(bar);

  function show() {
    const found = elements().filter(matching);
    const last = Math.max(0, Math.ceil(found.length / size) - 1);
    page = Math.min(Math.max(page, 0), last);
    const shown = new Set(found.slice(page * size, (page + 1) * size));
    for (const element of elements()) element.hidden = !shown.has(element);
    bar.hidden = last === 0;
    bar.style.display = last === 0 ? "none" : "";
    buttons[0].disabled = page === 0;
    buttons[1].disabled = page === last;
    const first = Math.min(found.length, page * size + 1);
    text.textContent = `${first}–${Math.min(found.length, (page + 1) * size)} of ${found.length}`;
    return found.length;
  }

  return {
    show,
    restart(test) { page = 0; matching = test || matching; return show(); },
  };
}

function rowsOf(table) { return [...table.tBodies[0].rows]; }

// Numbers sort by value, words by alphabet; what is unknown comes last either way.
function sortBy(table, column, sign) {
  const key = (row) => row.cells[column];
  const rows = rowsOf(table).map((row, place) => ({ row, place }));
  rows.sort((a, b) => {
    const [x, y] = [key(a.row), key(b.row)], known = [x, y].map((c) => "value" in c.dataset);
    if (known[0] !== known[1]) return known[0] ? -1 : 1;
    const order = known[0]
      ? Number(x.dataset.value) - Number(y.dataset.value)
      : x.textContent.localeCompare(y.textContent);
    return sign * order || a.place - b.place;
  });
  table.tBodies[0].append(...rows.map(({ row }) => row));
}

function makeSortable(table, restart) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sortBy(table, column, up ? 1 : -1);
      restart();
    });
  });
}

for (const table of document.querySelectorAll("section:not(#answer) table")) {
  const rows = rowsOf(table).length;
  if (rows < 3) continue;
  let restart = () => {};
  if (rows > 25) {
    const pages = pager(() => rowsOf(table), table.parentElement, 20, "rows");
    pages.show();
    restart = pages.restart;
  }
  if (!table.closest("details")) makeSortable(table, restart);
}

const form = document.getElementById("filter");
if (form) {
  const list = document.getElementById("list"), matches = document.getElementById("matches");
  const pages = pager(() => [...list.children], list, 10, "examples");
  const names = ["task", "setting", "better", "phenomenon"].filter((name) => form.elements[name]);
  const filter = () => {
    const words = form.elements.words.value.trim().toLowerCase();
    const count = pages.restart((item) =>
      names.every((n) => !form.elements[n].value || form.elements[n].value === item.dataset[n])
      && item.textContent.toLowerCase().includes(words));
    matches.textContent = `${count} of ${list.children.length}`;
  };
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
}
