(function () {
  "use strict";
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const drawn = [];

  // Theme: text and grid follow the page, the traces' own colours suit both.
  function themed() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: value("--grid"), linecolor: value("--line"), zerolinecolor: value("--grid") };
    return {
      font: { color: value("--muted"), family: getComputedStyle(document.body).fontFamily, size: 12 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      hoverlabel: { bgcolor: value("--surface"), bordercolor: value("--line"), font: { color: value("--text") }, align: "left" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: value("--muted"), activecolor: value("--accent") },
      xaxis: axis,
      yaxis: axis,
    };
  }
  function merged(layout) {
    const theme = themed();
    const out = Object.assign({}, layout, theme);
    for (const name of ["xaxis", "yaxis"]) out[name] = Object.assign({}, layout[name], theme[name]);
    if (layout.scene) {
      out.scene = Object.assign({}, layout.scene);
      for (const name of ["xaxis", "yaxis", "zaxis"]) out.scene[name] = Object.assign({}, layout.scene[name], theme.xaxis);
    }
    return out;
  }
  const options = {
    responsive: true, displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "sendDataToCloud", "sendChartToCloud"],
  };

  function draw(place) {
    const name = place.dataset.figure;
    const figure = "name" in place.dataset ? figures[name][place.dataset.name] : figures[name];
    if (!figure) return;
    if (figure.layout.scene && !webgl()) {
      place.className = "caption";
      place.textContent = "This view needs WebGL, which this browser does not offer. The plots beside it show the same points.";
      return;
    }
    const bar = name === "pareto" || name === "slices" || name === "space";
    place.options = Object.assign({}, options, { displayModeBar: bar ? "hover" : false });
    Plotly.newPlot(place, figure.data, merged(figure.layout), place.options);
    drawn.push([place, figure]);
    // A click on a member of the front opens its row.
    place.on("plotly_click", (event) => {
      const key = event.points[0].customdata;
      if (key && document.getElementById("entry-" + key)) show(key, true);
    });
    if (name === "pareto") pareto(place, figure);
  }
  function webgl() {
    const canvas = document.createElement("canvas");
    return Boolean(canvas.getContext("webgl") || canvas.getContext("experimental-webgl"));
  }

  // The Pareto plot: other pairs of axes are drawn from the traces' own columns.
  function pareto(place, figure) {
    const meta = figure.layout.meta;
    const names = Object.keys(meta.axes);
    if (names.length < 3) return;
    const pickers = { x: document.getElementById("axis-x"), y: document.getElementById("axis-y") };
    for (const [which, picker] of Object.entries(pickers)) {
      for (const name of names) picker.add(new Option(meta.axes[name].title, name, false, name === meta[which]));
      picker.addEventListener("change", () => redraw(pickers.x.value, pickers.y.value));
    }
    document.getElementById("axes").hidden = false;
    function redraw(x, y) {
      const all = new Set(meta.objectives).size === 2 && meta.objectives.includes(x) && meta.objectives.includes(y) && x !== y;
      const traces = figure.data.map((trace) => {
        const order = trace.customdata.map((_, i) => i);
        const columns = trace.meta.columns;
        order.sort((a, b) => columns[x][a] - columns[x][b]);
        const pick = (list) => order.map((i) => list[i]);
        return Object.assign({}, trace, {
          x: pick(columns[x]), y: pick(columns[y]), customdata: pick(trace.customdata),
          hovertext: trace.hovertext && pick(trace.hovertext),
          visible: trace.meta.role !== "line" || all,
        });
      });
      figure.layout = Object.assign({}, figure.layout, {
        xaxis: meta.axes[x].axis, yaxis: meta.axes[y].axis, shapes: [...(meta.axes[x].across || []), ...(meta.axes[y].upwards || [])],
      });
      Plotly.react(place, traces, merged(figure.layout), place.options);
      place.dataset.axes = x + "," + y;
    }
  }

  // Tables: a heading sorts, again turns it round. Rows without a number stay last.
  function sort(table, column, descending) {
    const heading = Array.from(table.querySelectorAll("thead th[data-column]")).find((h) => h.dataset.column === column);
    if (!heading) return;
    const index = Array.from(heading.parentNode.children).indexOf(heading);
    const entries = table.hasAttribute("data-entries");
    const items = Array.from(entries ? table.querySelectorAll("tbody.entry") : table.tBodies[0].rows);
    const numeric = heading.classList.contains("number");
    const value = (item) => (entries ? item.rows[0] : item).cells[index].dataset.value;
    items.sort((a, b) => {
      const left = value(a), right = value(b);
      if (left === "" || right === "") return (left === "") - (right === "");
      const order = numeric ? parseFloat(left) - parseFloat(right) : left.localeCompare(right, undefined, { numeric: true });
      return descending ? -order : order;
    });
    const parent = entries ? table : table.tBodies[0];
    for (const item of items) parent.appendChild(item);
    for (const other of table.querySelectorAll("thead th[data-column]")) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    table.tHead.addEventListener("click", (event) => {
      const heading = event.target.closest("th[data-column]");
      if (heading) sort(table, heading.dataset.column, heading.getAttribute("aria-sort") === "ascending");
    });
  }

  // Details: the whole row opens them, its button too (by keyboard).
  function show(key, open) {
    const entry = document.getElementById("entry-" + key);
    if (!entry) return;
    const details = document.getElementById("details-" + key);
    details.hidden = !open;
    entry.classList.toggle("open", open);
    entry.querySelector(".opener button").setAttribute("aria-expanded", String(open));
    if (open) entry.scrollIntoView({ block: "nearest" });
  }
  for (const entry of document.querySelectorAll("tbody.entry")) {
    entry.querySelector(".row").addEventListener("click", () => show(entry.dataset.key, !entry.classList.contains("open")));
  }
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", () => {
      const code = button.parentNode.querySelector("code");
      const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
      const byHand = () => { getSelection().selectAllChildren(code); if (document.execCommand("copy")) done(); };
      if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, byHand); else byHand();
    });
  }

  // A link can name a state: #sort=-validation (falling), #key=<architecture>.
  function follow() {
    for (const part of location.hash.slice(1).split("&")) {
      const [name, value] = part.split("=");
      const front = document.getElementById("front");
      if (name === "sort" && value && front) sort(front, value.replace(/^-/, ""), value.startsWith("-"));
      if (name === "key" && value) show(value, true);
    }
  }
  window.addEventListener("hashchange", follow);
  document.querySelectorAll("[data-figure]").forEach(draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const [place, figure] of drawn) Plotly.react(place, place.data, merged(figure.layout), place.options);
  });
  follow();
})();
