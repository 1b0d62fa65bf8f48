(function () {
  "use strict";
  const shown = JSON.parse(document.getElementById("shown").textContent);
  const place = document.querySelector('[data-figure="map"]');
  const at = (name) => document.getElementById(name);
  const safe = (text) => text.replace(/[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" })[c]);

  // A cell as an SVG drawing: what secateur.spaces.cells.drawing makes of the same places.
  function described(operations, edges) {
    const names = shown.drawings.names;
    return operations.map((operation, node) => {
      const of = edges.filter((edge) => edge[1] === node).map((edge) => edge[0]).join(" and ");
      return node + " " + names[operation] + (of ? " of " + of : "");
    }).join(", ");
  }
  function cell(operations, lanes, edges) {
    const { wide, beside, high, below } = shown.drawings.sizes, step = wide + beside;
    const middle = (row) => row * (high + below) + (high >> 1);
    const lines = edges.map(([source, target]) => {
      const from = lanes[source][0], to = lanes[target][0], rows = lanes[source][1];
      let row = rows[0], path = `M${from * step + wide} ${middle(row)}`;
      for (let depth = from + 1; depth <= to; depth++) {
        const next = depth === to ? lanes[target][1][0] : rows[depth - from], end = depth * step, half = end - (beside >> 1);
        path += `C${half} ${middle(row)} ${half} ${middle(next)} ${end} ${middle(next)}` + (depth < to ? `H${end + wide}` : "");
        row = next;
      }
      return `<path d="${path}" fill="none" stroke="${shown.drawings.line}" marker-end="url(#tip)"/>`;
    });
    const boxes = operations.map((operation, node) => {
      const [name, fill, ink] = shown.drawings.inks[operation], [depth, [row]] = lanes[node];
      const x = depth * step, y = row * (high + below);
      return `<rect x="${x}" y="${y}" width="${wide}" height="${high}" rx="5" fill="${fill}" stroke="${shown.drawings.line}"/>` +
        `<text x="${x + (wide >> 1)}" y="${y + 17}" text-anchor="middle" fill="${ink}">${safe(name)}</text>`;
    });
    const deepest = Math.max(...lanes.map((lane) => lane[0])), lowest = Math.max(...lanes.flatMap((lane) => lane[1]));
    return [lines.concat(boxes).join(""), deepest * step + wide, (lowest + 1) * (high + below) - below];
  }
  function drawing(index) {
    const { margin, title } = shown.drawings.sizes, { roles, line, text } = shown.drawings;
    const parts = [], spoken = [];
    let top = margin, right = 0;
    shown.drawings.cells[index].forEach(([structure, ...operations], role) => {
      const [lanes, edges] = shown.drawings.structures[structure], [inner, width, height] = cell(operations, lanes, edges);
      const label = `<text x="${margin}" y="${title - 8}" font-weight="bold" fill="${text}">${safe(roles[role])}</text>`;
      parts.push(`<g transform="translate(0,${top})">${label}<g transform="translate(${margin},${title})">${inner}</g></g>`);
      spoken.push(roles[role] + ": " + described(operations, edges));
      top += title + height + margin;
      right = Math.max(right, width + 2 * margin);
    });
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${right} ${top}" width="${right}" height="${top}" role="img" ` +
      `font-family="sans-serif" font-size="11"><title>${safe(spoken.join("; "))}</title><defs><marker id="tip" viewBox="0 0 8 8" ` +
      `refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="${line}"/></marker>` +
      `</defs>${parts.join("")}</svg>`;
  }

  // Pointing shows an architecture, a click or the slider keeps one; a click on it again lets it go.
  const rank = new Map(shown.order.map((index, i) => [index, i]));
  const where = new Map();
  place.data.forEach((trace) => (trace.customdata || []).forEach((index, i) => where.set(index, [trace.x[i], trace.y[i]])));
  let kept = null;
  function look(index) {
    at("looked-at").dataset.index = index;
    at("chosen-value").textContent = shown.said[index];
    at("chosen-rank").textContent = `${(rank.get(index) + 1).toLocaleString("en")} of ${shown.order.length.toLocaleString("en")}`;
    at("chosen-key").textContent = shown.keys[index];
    if (shown.drawings) at("chosen-drawing").innerHTML = drawing(index); else at("chosen-words").textContent = shown.words[index];
    at("through").value = rank.get(index);
  }
  function keep(index) {
    kept = index;
    const point = index === null ? [[], []] : where.get(index).map((value) => [value]);
    Plotly.restyle(place, { x: [point[0]], y: [point[1]] }, [place.data.length - 1]);
    if (index !== null) look(index);
  }
  const pointed = (event) => event.points.map((point) => point.customdata).find((index) => index !== undefined);
  place.on("plotly_hover", (event) => { const index = pointed(event); if (kept === null && index !== undefined) look(index); });
  place.on("plotly_click", (event) => { const index = pointed(event); if (index !== undefined) keep(index === kept ? null : index); });
  at("through").addEventListener("input", (event) => keep(shown.order[Number(event.target.value)]));
  look(shown.order[0]);
})();
