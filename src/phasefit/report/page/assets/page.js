// For every page: light and dark colours, sortable tables, copying code, marking the current section.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const remembered = (theme) => {
    try {
      if (theme) localStorage.setItem("phasefit-theme", theme);
      return localStorage.getItem("phasefit-theme");
    } catch {
      return null; // pages opened as files may have no storage
    }
  };
  const show = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Dark colours");
    document.dispatchEvent(new Event("themechange"));
  };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remembered(root.dataset.theme);
    show();
  });
  dark.addEventListener("change", show);
  show();

  // Numbers by value, texts in natural order; a second click reverses the order; empty cells stay last.
  const order = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort ?? cell.textContent.trim();
  };
  const compare = (one, other, numbers) => (numbers ? Number(one) - Number(other) : order.compare(one, other));
  const sort = (table, column) => {
    const head = table.tHead.rows[0].cells[column];
    const numbers = head.classList.contains("number");
    const first = numbers ? "descending" : "ascending";
    const second = numbers ? "ascending" : "descending";
    const way = head.getAttribute("aria-sort") === first ? second : first;
    for (const cell of table.tHead.rows[0].cells) cell.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", way);
    const sign = way === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, column), row]);
    rows.sort(([one], [other]) => {
      if (one === "" || other === "") return (one === "") - (other === "");
      return sign * compare(one, other, numbers);
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      cell.querySelector("button").addEventListener("click", () => sort(table, column));
    });
  }

  for (const copy of document.querySelectorAll("[data-copy]")) {
    copy.addEventListener("click", async () => {
      const code = copy.parentElement.querySelector("code");
      const label = copy.textContent;
      try {
        await navigator.clipboard.writeText(code.textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code); // so that the reader can copy it with the keyboard
        copy.textContent = "Selected";
      }
      setTimeout(() => { copy.textContent = label; }, 1500);
    });
  }

  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const section of document.querySelectorAll("main > section")) seen.observe(section);
})();
