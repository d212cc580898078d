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

  // A phone shows each row of these tables as a block, with the title of its column before each number or fact.
  for (const table of all("#why table.plain, #causes table.plain, #environment table.plain")) {
    table.classList.add("stacks");
    const titles = all("thead th", table).map((title) => title.textContent);
    for (const row of table.tBodies[0].rows)
      for (const cell of row.cells) cell.dataset.title = titles[cell.cellIndex];
  }

  // Downloads: the still picture is in the page already, as an address that a link may take.
  for (const link of all("a.picture")) {
    link.href = one("img.still", link.closest("figure")).src;
    link.hidden = false;
  }
  for (const button of all("button.raster")) {
    button.hidden = false;
    button.addEventListener("click", () => saveRaster(one("img.still", button.closest("figure")), button.dataset.name));
  }
  async function saveRaster(still, name) {  // PNG is drawn on request, so that the page need not carry it twice
    const image = new Image();
    image.src = still.src;
    await image.decode();
    const canvas = document.createElement("canvas");
    const PIXELS_A_UNIT = 2;
    canvas.width = image.naturalWidth * PIXELS_A_UNIT;
    canvas.height = image.naturalHeight * PIXELS_A_UNIT;
    const paint = canvas.getContext("2d");
    paint.fillStyle = "#ffffff";
    paint.fillRect(0, 0, canvas.width, canvas.height);
    paint.drawImage(image, 0, 0, canvas.width, canvas.height);
    const link = document.createElement("a");
    link.href = canvas.toDataURL("image/png");
    link.download = name;
    link.click();
  }

  // Charts: specs are written in light colours; dark ones are the same text with each colour exchanged.
  // Expressions go through Vega's interpreter, so that the page needs no eval.
  const darkByLight = json("dark");
  let specs = null;
  const recoloured = (text) => text.replace(/#[0-9a-f]{6}\b/g, (colour) => darkByLight[colour] || colour);
  let drawing = Promise.resolve();
  const views = new Map();
  function drawCharts(within = document) {
    if (!window.vegaEmbed || !window.DecompressionStream) return;
    drawing = drawing.then(async () => {
      specs ??= await unpack(json("specs"));
      for (const figure of all("figure", within)) {
        if (figure.closest("details:not([open])")) continue;  // drawn when it is opened
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
  document.addEventListener("toggle", (event) => event.target.open && drawCharts(event.target), true);
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

  // Long tables: the first rows stand in the page, the rest come packed and become rows when they are looked at.
  const AT_ONCE = 250;
  class Listing {
    constructor(box) {
      this.table = one("table", box);
      this.body = this.table.tBodies[0];
      this.pattern = this.body.rows[0]?.cloneNode(true);
      this.entries = [...this.body.rows].map((row) => ({
        row, cases: row.dataset.cases.split(" "), state: row.dataset.state, text: row.textContent.toLowerCase(),
        keys: [...row.cells].map((cell) => cell.dataset.value ?? cell.textContent),
      }));
      this.form = one(".filter", box);
      [this.words, this.state, this.clear, this.shown] = ["[type=search]", "select", "button", "output"].map((query) => one(query, this.form));
      this.more = one(".more", box);
      this.cases = null;
      this.limit = AT_ONCE;
      this.form.hidden = false;
      this.words.addEventListener("input", () => this.filter());
      this.state.addEventListener("change", () => this.filter());
      this.clear.addEventListener("click", () => { this.only(null, ""); this.words.focus(); });
      this.form.addEventListener("submit", (event) => event.preventDefault());
      this.more.addEventListener("click", () => { this.limit += AT_ONCE; this.show(); });
      for (const [index, head] of [...this.table.tHead.rows[0].cells].entries()) if (head.dataset.sort) this.makeSortable(head, index);
      this.filter();
      this.load(one(".rest", box));
    }
    async load(rest) {
      if (!rest) return;
      for (const [cases, state, run, label, cells] of await unpack(JSON.parse(rest.textContent))) {
        const text = cells.map((cell) => cell.slice(0, 2).join(" ")).join(" ").toLowerCase();
        this.entries.push({ cases, state, run, label, cells, text, keys: cells.map(([text, , value]) => value ?? text) });
      }
      this.filter();
    }
    filter() {
      const wanted = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      this.fitting = this.entries.filter((entry) => (!this.state.value || entry.state === this.state.value)
        && (!this.cases || entry.cases.some((name) => this.cases.has(name))) && wanted.every((word) => entry.text.includes(word)));
      this.limit = AT_ONCE;
      this.show();
    }
    only(list, label) {
      this.cases = list && new Set(list);
      this.clear.hidden = !this.cases;
      this.clear.textContent = this.cases ? "Only " + label + " ✕" : "";
      if (this.cases) { this.words.value = ""; this.state.value = ""; }
      this.filter();
    }
    show() {
      const rows = this.fitting.slice(0, this.limit).map((entry) => entry.row ??= this.build(entry));
      rows.forEach(arm);
      this.body.replaceChildren(...rows);
      this.shown.textContent = rows.length + " of " + this.fitting.length + (this.fitting.length < this.entries.length ? " that fit" : "") + " shown";
      this.more.hidden = rows.length === this.fitting.length;
    }
    build(entry) {
      const row = this.pattern.cloneNode(true);
      for (const [index, [text, small, , paint]] of entry.cells.entries()) {
        const cell = row.cells[index];
        const span = document.createElement("span");
        span.className = paint;
        span.textContent = text;
        cell.replaceChildren(paint ? span : text);
        if (small) { const remark = document.createElement("small"); remark.textContent = small; cell.append(" ", remark); }
      }
      const last = row.cells[row.cells.length - 1];
      const link = document.createElement("a");
      if (this.table.dataset.home === undefined) {
        link.className = "evidence";
        link.href = "#runs";
        link.textContent = "runs";
        Object.assign(link.dataset, { cases: entry.cases.join(" "), label: entry.label });
      } else {
        link.className = "open";
        link.href = this.table.dataset.home + "/" + entry.run.split("/").map(encodeURIComponent).join("/") + "/";
        link.textContent = "folder";
        link.dataset.run = entry.run;
      }
      last.replaceChildren(entry.run || this.table.dataset.home === undefined ? link : "–");
      return row;
    }
    makeSortable(head, index) {  // blanks come last either way
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const ascending = head.getAttribute("aria-sort") !== "ascending";
        for (const other of this.table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
        this.entries.sort((first, second) => {
          const [a, b] = [first.keys[index], second.keys[index]];
          if (a === "" || b === "") return (a === "") - (b === "");
          const order = head.dataset.sort === "number" ? a - b : a.localeCompare(b);
          return ascending ? order : -order;
        });
        this.filter();
      });
    }
  }

  // Evidence: deflated JSON in base64, unpacked when a run is opened. Shown as text, never as HTML.
  const evidence = json("evidence");
  function arm(row) {
    const link = one("a.open", row);
    if (!link || !(link.dataset.run in evidence) || !window.DecompressionStream) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "opener";
    button.textContent = "open";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", "Open run " + link.dataset.run);
    button.addEventListener("click", () => toggle(row, button, link));
    link.replaceWith(button);
  }
  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }
  async function toggle(row, button, link) {
    const is_open = row.nextElementSibling?.classList.contains("opened");
    if (is_open) row.nextElementSibling.remove();
    button.setAttribute("aria-expanded", String(!is_open));
    if (is_open) return;
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
    row.after(opened);
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

  const listings = new Map(all(".listing").map((box) => [box.dataset.name, new Listing(box)]));
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.evidence");
    if (!link) return;
    listings.get("runs").only(link.dataset.cases.split(" "), link.dataset.label);
    const runs = one("#runs");
    runs.tabIndex = -1;  // so that it can have the focus
    runs.focus({ preventScroll: true });
  });
  addEventListener("hashchange", openTarget);
  function openTarget() {  // a link into a closed part opens it
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target) for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
  }

  all(".odd tbody tr").forEach(arm);
  applyTheme();
  openTarget();
})();
