"use strict";
(() => {
  const root = document.documentElement;
  const each = (selector, action, within = document) =>
    within.querySelectorAll(selector).forEach(action);

  // A file opened from disk, or a frame without an origin, may have no storage at all.
  const memory = {
    get() {
      try { return localStorage.getItem("echelon-theme"); } catch { return null; }
    },
    set(theme) {
      try { localStorage.setItem("echelon-theme", theme); } catch { /* not remembered */ }
    },
  };

  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  const toggle = document.getElementById("theme");
  // The button names what a click on it gives.
  const showTheme = () => {
    toggle.querySelector(".says").textContent = isDark() ? "Light theme" : "Dark theme";
  };
  const remembered = memory.get();
  if (remembered === "dark" || remembered === "light") root.dataset.theme = remembered;
  toggle.hidden = false;
  toggle.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    memory.set(root.dataset.theme);
    showTheme();
  });
  prefersDark.addEventListener("change", showTheme);
  showTheme();

  // Missing figures stand last in both directions; equal ones keep their order.
  const compare = (a, b, direction) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    const x = Number(a), y = Number(b);
    const order = Number.isNaN(x) || Number.isNaN(y)
      ? a.localeCompare(b, undefined, { numeric: true, sensitivity: "base" })
      : x - y;
    return direction === "ascending" ? order : -order;
  };
  const sort = (table, header, column) => {
    const direction = header.ariaSort === "ascending" ? "descending" : "ascending";
    const body = table.tBodies[0];
    const keys = new Map(
      [...body.rows].map((row) => [row, row.cells[column].dataset.key ?? ""]));
    body.append(...[...body.rows].sort((a, b) => compare(keys.get(a), keys.get(b), direction)));
    each("th[aria-sort]", (other) => other.removeAttribute("aria-sort"), table.tHead);
    header.setAttribute("aria-sort", direction);
    document.getElementById("spoken").textContent =
      `Sorted by ${header.textContent.trim()}, ${direction}.`;
  };
  each("table.sortable", (table) => {
    const headers = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    headers.forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sort(table, header, column));
    });
  });

  // Only boxes that really scroll are stops of the keyboard, and say so.
  const boxes = [...document.querySelectorAll(".scroll, .canvas")];
  const setStops = () => boxes.forEach((box) => {
    const wide = box.scrollWidth > box.clientWidth + 1;
    const long = box.scrollHeight > box.clientHeight + 1;
    if (wide || long) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    box.classList.toggle("more", wide && box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    box.classList.toggle("below", long && box.scrollTop + box.clientHeight < box.scrollHeight - 1);
    const cue = box.nextElementSibling;
    if (!cue || !cue.classList.contains("cue")) return;
    cue.hidden = !(wide || long);
    cue.textContent = wide && long ? "Scrolls sideways and down" : wide ? "Scrolls sideways →" : "Scrolls down ↓";
  });
  boxes.forEach((box) => box.addEventListener("scroll", setStops, { passive: true }));
  setStops();
  addEventListener("resize", setStops);
  each("details", (details) => details.addEventListener("toggle", setStops));

  const links = new Map(
    [...document.querySelectorAll("#contents a")].map((link) => [link.hash.slice(1), link]));
  // In a notebook's frame a link to a place would load the notebook itself.
  if (location.protocol === "about:") {
    each('a[href^="#"]', (link) => link.addEventListener("click", (event) => {
      event.preventDefault();
      const place = document.getElementById(link.getAttribute("href").slice(1));
      place.scrollIntoView();
      place.focus({ preventScroll: true });
    }));
  }
  const setCurrent = (id) => links.forEach((link, key) => {
    if (key !== id) return link.removeAttribute("aria-current");
    link.setAttribute("aria-current", "true");
    const strip = link.closest("ol");
    strip.scrollTo({ left: link.offsetLeft - strip.offsetLeft - 16 });
  });
  if ("IntersectionObserver" in window) {
    const watcher = new IntersectionObserver(
      (entries) => entries.forEach((entry) => {
        if (entry.isIntersecting) setCurrent(entry.target.id);
      }),
      { rootMargin: "-15% 0px -75% 0px" });
    each("main section", (section) => watcher.observe(section));
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => {
    opened.forEach((details) => { details.open = false; });
  });
})();
