"use strict";
(() => {
  const one = (query, root = document) => root.querySelector(query);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const json = (id) => JSON.parse(one("#" + id).textContent);
  const root = document.documentElement;

  // Theme: what the system says, unless the reader says otherwise. Storage may be barred on file://.
  const themes = ["auto", "light", "dark"];
  const systemDark = matchMedia("(prefers-color-scheme: dark)");
  let theme = "auto";
  try { theme = localStorage.getItem("tare-theme") || "auto"; } catch { /* the choice lasts for this visit */ }
  const isDark = () => theme === "dark" || (theme === "auto" && systemDark.matches);
  const themeButton = one("#theme");
  function applyTheme() {
    if (theme === "auto") root.removeAttribute("data-theme"); else root.dataset.theme = theme;
    themeButton.textContent = "Theme: " + theme;
    drawCharts();
  }
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("tare-theme", theme); } catch { /* as above */ }
    applyTheme();
  });
  systemDark.addEventListener("change", () => theme === "auto" && drawCharts());

  // Charts: specs are written in light colours; dark ones are the same text with each colour exchanged.
  // Expressions go through Vega's interpreter, so that the page needs no eval.
  const darkByLight = json("dark");
  const specs = json("specs");
  const recoloured = (text) => text.replace(/#[0-9a-f]{6}\b/g, (colour) => darkByLight[colour] || colour);
  let drawing = Promise.resolve();
  const views = new Map();
  function drawCharts() {
    if (!window.vegaEmbed) return;
    drawing = drawing.then(async () => {
      for (const figure of all("figure")) {
        const panels = one(".panels", figure);
        panels.hidden = false;
        try {
          for (const panel of all(".panel", panels)) await drawPanel(panel);
          figure.classList.add("is-live");
        } catch (error) {
          panels.hidden = true;  // the still picture is there instead
          console.error(error);
        }
      }
    });
  }
  async function drawPanel(panel) {
    const text = specs[panel.dataset.figure][panel.dataset.panel];
    if (views.has(panel)) views.get(panel).finalize();
    const spec = JSON.parse(isDark() ? recoloured(text) : text);
    const options = { actions: false, renderer: "svg", ast: true, tooltip: { theme: isDark() ? "dark" : "light" } };
    views.set(panel, await window.vegaEmbed(panel, spec, options));
    panel.querySelector("svg")?.setAttribute("aria-hidden", "true");  // the panel itself carries the words
  }

  // Cards of the table: Escape puts them away, until the pointer or the focus moves on.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const map of all(".heat")) map.classList.add("dismissed");
  });
  for (const map of all(".heat")) {
    for (const kind of ["focusin", "mouseover"]) map.addEventListener(kind, () => map.classList.remove("dismissed"));
  }

  // Runs: filter by words, by state, and by the number that the reader came from.
  const table = one(".runs");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const [words, state, clear, shown] = ["words", "state", "clear", "shown"].map((id) => one("#" + id));
  let cases = null;
  one("#filter").hidden = false;
  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let visible = 0;
    for (const row of rows) {
      close(row);
      const text = row.textContent.toLowerCase();
      const fits = wanted.every((word) => text.includes(word)) && (!state.value || row.dataset.state === state.value)
        && (!cases || cases.has(row.dataset.case));
      row.hidden = !fits;
      visible += fits;
    }
    shown.textContent = visible + " of " + rows.length + " shown";
  }
  function showCases(list, label) {
    cases = list && new Set(list);
    clear.hidden = !cases;
    clear.textContent = cases ? "Only " + label + " ✕" : "";
    if (cases) { words.value = ""; state.value = ""; }
    filter();
  }
  words.addEventListener("input", filter);
  state.addEventListener("change", filter);
  clear.addEventListener("click", () => { showCases(null, ""); words.focus(); });
  one("#filter").addEventListener("submit", (event) => event.preventDefault());
  for (const link of all("a.evidence")) {
    link.addEventListener("click", () => {
      showCases(link.dataset.cases.split(" "), link.dataset.label);
      one("#runs").focus({ preventScroll: true });
    });
  }

  // Sorting by a column; blanks come last either way.
  for (const [index, head] of [...table.tHead.rows[0].cells].entries()) {
    if (!head.dataset.sort) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => sortBy(index, head));
  }
  function sortBy(index, head) {
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const value = (row) => row.cells[index].dataset.value ?? row.cells[index].textContent;
    rows.forEach(close);
    rows.sort((first, second) => {
      const [a, b] = [value(first), value(second)];
      if (a === "" || b === "") return (a === "") - (b === "");
      const order = head.dataset.sort === "number" ? a - b : a.localeCompare(b);
      return ascending ? order : -order;
    });
    body.append(...rows);
  }

  // Evidence: deflated JSON in base64, unpacked when a run is opened. Shown as text, never as HTML.
  const evidence = json("evidence");
  for (const link of all("a.open")) {
    if (!(link.dataset.run in evidence) || !window.DecompressionStream) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "opener";
    button.textContent = "open";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", "Open run " + link.dataset.run);
    button.addEventListener("click", () => toggle(button.closest("tr"), button, link));
    link.replaceWith(button);
  }
  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }
  function close(row) {
    if (!row.nextElementSibling?.classList.contains("opened")) return;
    row.nextElementSibling.remove();
    one(".opener", row)?.setAttribute("aria-expanded", "false");
  }
  async function toggle(row, button, link) {
    if (row.nextElementSibling?.classList.contains("opened")) return close(row);
    const found = await unpack(evidence[link.dataset.run]);
    const opened = document.createElement("tr");
    opened.className = "opened";
    const cell = opened.insertCell();
    cell.colSpan = row.cells.length;
    for (const stage of found.commands) {
      const variables = Object.entries(stage.env).map(([name, value]) => name + "=" + value);
      add(cell, "Command" + (stage.host ? " on " + stage.host : ""), stage.argv.map(quoted).join(" "), "wraps");
      if (variables.length) add(cell, "Environment variables", variables.join("\n"), "wraps");
    }
    for (const [name, text] of Object.entries(found.streams)) add(cell, name, text);
    const folder = document.createElement("p");
    link.textContent = link.dataset.run;
    folder.append("In the campaign’s folder: ", link);
    cell.append(folder);
    close(row);
    row.after(opened);
    button.setAttribute("aria-expanded", "true");
  }
  function add(cell, title, text, kind = "") {
    const head = document.createElement("h4");
    const block = document.createElement("pre");
    head.textContent = title;
    block.textContent = text;
    block.className = kind;
    block.tabIndex = 0;
    cell.append(head, block);
  }
  const quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";

  applyTheme();
  filter();
})();
