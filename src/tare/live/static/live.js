"use strict";
(() => {
  const one = (query, root = document) => root.querySelector(query);
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const root = document.documentElement;
  const main = one("main");

  // Theme: what the system says, unless the reader says otherwise; shared with the report's choice.
  const themes = ["auto", "light", "dark"];
  const button = one("#theme");
  let theme = "auto";
  try { theme = localStorage.getItem("tare-theme") || "auto"; } catch { /* the choice lasts for this visit */ }
  function applyTheme() {
    if (theme === "auto") root.removeAttribute("data-theme"); else root.dataset.theme = theme;
    button.textContent = "Theme: " + theme;
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("tare-theme", theme); } catch { /* as above */ }
    applyTheme();
  });
  applyTheme();

  // Matrix: one stop for the tab key, arrows move, Enter opens; a cell is read out when it is reached.
  let current = null;
  const cellWords = { d: "done", f: "failed", i: "invalid", l: "lost", r: "running", p: "pending" };
  function describe(cell) {
    const row = cell.parentElement;
    const table = cell.closest("table");
    const block = table.tHead.rows[0].cells[cell.cellIndex].textContent;
    const place = one(".place", cell.closest("tbody")).textContent.trim();
    const state = cellWords[cell.classList[0]];
    const tries = cell.dataset.n ? ", attempt " + cell.dataset.n : "";
    return row.cells[0].textContent.trim() + " · " + place + " · " + (block === "w" ? "warm-up" : "block " + block)
      + ": " + (state ? state + tries : "not planned");
  }
  function address(cell) {
    if (!cell.classList.length || cell.classList.contains("p")) return null;
    const table = cell.closest("table");
    const block = table.tHead.rows[0].cells[cell.cellIndex].dataset.block;
    return table.dataset.runs + encodeURIComponent(cell.parentElement.dataset.case) + "/" + block + "." + (cell.dataset.n || 1);
  }
  function moveTo(cell, hasFocus) {
    if (current) current.tabIndex = -1;
    current = cell;
    cell.tabIndex = 0;
    readOut(cell);
    if (hasFocus) cell.focus();
  }
  function readOut(cell) {
    const text = describe(cell);
    cell.setAttribute("aria-label", text);
    one("#readout").textContent = text;
  }
  function dataRows() { return all("tr[data-case]", one(".matrix")); }
  function keyed(event) {
    const cell = event.target.closest("td");
    if (!cell) return;
    const rows = dataRows();
    let [y, x] = [rows.indexOf(cell.parentElement), cell.cellIndex];
    const last = cell.parentElement.cells.length - 1;
    if (event.key === "ArrowRight") x = Math.min(x + 1, last);
    else if (event.key === "ArrowLeft") x = Math.max(x - 1, 1);
    else if (event.key === "ArrowDown") y = Math.min(y + 1, rows.length - 1);
    else if (event.key === "ArrowUp") y = Math.max(y - 1, 0);
    else if (event.key === "Home") x = 1;
    else if (event.key === "End") x = last;
    else if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(cell); return; }
    else return;
    event.preventDefault();
    moveTo(rows[y].cells[x], true);
  }
  function open(cell) { const url = address(cell); if (url) location.assign(url); }
  function dressMatrix(focused) {
    const holder = one("#matrix");
    if (!holder || !one("td", holder)) return;
    current = null;
    const row = focused && dataRows().find((found) => found.dataset.case === focused.row);
    const cell = (row && row.cells[focused.column]) || one("td", holder);
    cell.tabIndex = 0;
    current = cell;
    if (focused && focused.has) cell.focus();
  }
  const matrix = one("#matrix");
  if (matrix) {
    matrix.addEventListener("keydown", keyed);
    matrix.addEventListener("focusin", (event) => { const cell = event.target.closest("td"); if (cell) readOut(cell); });
    matrix.addEventListener("mouseover", (event) => { const cell = event.target.closest("td"); if (cell) readOut(cell); });
    matrix.addEventListener("click", (event) => { const cell = event.target.closest("td"); if (cell) { moveTo(cell, false); open(cell); } });
    dressMatrix(null);
  }

  // Parts: the server sends the HTML of what may have changed; it is put in place only where it has.
  const shown = new Map();
  function put(id, html) {
    const part = document.getElementById(id);
    if (!part || shown.get(id) === html) return;
    shown.set(id, html);
    const active = document.activeElement;
    const inside = part.contains(active);
    const focused = id === "matrix" && current
      ? { row: current.parentElement.dataset.case, column: current.cellIndex, has: inside } : null;
    const key = inside ? active.id : "";
    const scrolled = all(".scroll", part).map((view) => [view.scrollLeft, view.scrollTop]);
    const opened = all("details", part).map((view) => view.open);
    part.innerHTML = html;  // our own templates, with every value escaped; the policy bars inline scripts besides
    all(".scroll", part).forEach((view, index) => { if (scrolled[index]) [view.scrollLeft, view.scrollTop] = scrolled[index]; });
    all("details", part).forEach((view, index) => { if (opened[index]) view.open = true; });
    if (id === "matrix") dressMatrix(focused);
    else if (key) document.getElementById(key)?.focus();
    if (id === "output") followLogs();
  }
  function paint(cells) {
    if (!cells.length) return;
    const table = one(".matrix");
    const rows = new Map(dataRows().map((row) => [row.dataset.case, row]));
    const columns = new Map([...table.tHead.rows[0].cells].map((cell, index) => [cell.dataset.block, index]));
    for (const [id, block, letter, sign, attempt] of cells) {
      const cell = rows.get(id)?.cells[columns.get(String(block))];
      if (!cell) continue;
      cell.className = letter + " new";
      cell.textContent = sign;
      if (attempt > 1) cell.dataset.n = attempt;
      cell.removeAttribute("aria-label");
      if (cell === current && document.activeElement === cell) readOut(cell);
    }
  }

  // Updates: a stream tells that something is new, and what is new is then fetched, one request at a time.
  let revision = Number(main.dataset.revision);
  let busy = false;
  let again = false;
  async function update() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const url = new URL(main.dataset.live, location.href);
      url.searchParams.set("since", revision);
      const logs = all("pre.log");
      if (one("#output")) url.searchParams.set("streams", logs.length);
      const response = await fetch(url);
      if (response.ok) {
        const news = await response.json();
        for (const [id, html] of Object.entries(news.parts)) put(id, html);
        paint(news.cells);
        revision = news.revision;
      }
    } catch { /* the stream says so, and tries again */ }
    busy = false;
    if (again) { again = false; setTimeout(update, 200); }
  }
  const link = one("#link");
  function say(text, kind) { link.textContent = text; link.className = "link " + kind; }
  if (main.dataset.live) {
    const watched = main.dataset.watch;
    const stream = new EventSource("/events" + (watched ? "?c=" + encodeURIComponent(watched) : ""));
    stream.addEventListener("open", () => say("live", "is-up"));
    stream.addEventListener("error", () => say("no connection; trying again", "is-down"));
    stream.addEventListener("change", (event) => {
      const revisions = JSON.parse(event.data);
      if (!watched || !(watched in revisions) || revisions[watched] !== revision) update();
    });
    addEventListener("pagehide", () => stream.close());
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
  }

  // Filter: as one types, without leaving the page.
  const filter = one("#filter");
  if (filter) {
    let timer = 0;
    const apply = () => {
      const query = new URLSearchParams(new FormData(filter));
      history.replaceState(null, "", location.pathname + "?" + query);
      const url = new URL(main.dataset.live, location.href);
      main.dataset.live = url.pathname + "?" + query;
      update();
    };
    filter.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(apply, 200); });
    filter.addEventListener("submit", (event) => { event.preventDefault(); apply(); });
  }

  // Logs: followed while their run is under way, and read backwards on demand. Shown as text, never as HTML.
  const most = 2_000_000;
  async function follow(log) {
    if (log.dataset.busy) return;
    log.dataset.busy = "yes";
    for (;;) {
      try {
        const response = await fetch(log.dataset.log + "?from=" + log.dataset.end);
        if (!response.ok) break;
        const found = await response.json();
        if (found.text) append(log, found.text);
        log.dataset.end = found.end;
        if (!found.is_live && found.start === found.end) break;
        if (found.end < found.size && found.start < found.end) continue;
      } catch { /* tried again below */ }
      await new Promise((resolve) => setTimeout(resolve, 1000));
      if (!log.isConnected) return;
    }
    delete log.dataset.follow;
  }
  function append(log, text) {
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    log.append(text);
    while (log.childNodes.length > 1 && log.textContent.length > most) log.firstChild.remove();
    if (atEnd) log.scrollTop = log.scrollHeight;
  }
  function followLogs() {
    for (const log of all("pre.log")) {
      log.scrollTop = log.scrollHeight;
      if ("follow" in log.dataset) follow(log);
    }
    for (const earlier of all(".earlier")) {
      earlier.hidden = false;
      earlier.addEventListener("click", () => showEarlier(earlier, document.getElementById(earlier.dataset.for)));
    }
  }
  async function showEarlier(earlier, log) {
    const response = await fetch(log.dataset.log + "?before=" + log.dataset.start);
    if (!response.ok) return;
    const found = await response.json();
    const height = log.scrollHeight;
    log.prepend(found.text);
    log.dataset.start = found.start;
    log.scrollTop += log.scrollHeight - height;
    if (found.start === 0) earlier.parentElement.remove();
  }
  followLogs();
})();
