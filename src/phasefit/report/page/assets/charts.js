// Draws the charts of a page with ECharts in the colours of the page. Texts of users only become text nodes.
"use strict";
const phasefitCharts = (() => {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const probe = document.createElement("i");
  const shapes = {
    circle: "M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10z", rect: "M1 1h10v10h-10z", triangle: "M6 1l5.5 10h-11z",
    diamond: "M6 0l6 6l-6 6l-6-6z", roundRect: "M3 1h6q2 0 2 2v6q0 2-2 2h-6q-2 0-2-2v-6q0-2 2-2z",
    line: "M0 5h12v2h-12z",
  };

  // A colour "@ink" means var(--ink) of the current theme.
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const resolved = getComputedStyle(probe).color;
    probe.remove();
    return resolved;
  };
  const coloured = (value, key = "") => {
    if (typeof value === "string") return /colou?r$/i.test(key) && value[0] === "@" ? colour(value.slice(1)) : value;
    if (Array.isArray(value)) return key === "data" && typeof value[0] !== "object" ? value : value.map((one) => coloured(one, key));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, coloured(inner, name)]));
  };

  const tip = (lines) => {
    const box = document.createElement("div");
    box.className = "tip";
    for (const line of lines) {
      const part = document.createElement("span");
      part.dir = "auto";
      part.textContent = line;
      box.append(part);
    }
    return box;
  };
  const format = (value) => (typeof value === "number" ? value.toLocaleString("en", { maximumSignificantDigits: 4 }) : String(value));
  const linesOf = (spec, params) => {
    if (!Array.isArray(params)) return params.data?.tip ?? null;
    const series = (one) => spec.option.series[one.seriesIndex];
    const known = params.filter((one) => !series(one).silent && one.value && typeof one.value[1] === "number");
    if (!known.length) return null;
    return [`${spec.x_title ?? ""} ${format(known[0].value[0])}`.trim(),
      ...known.map((one) => `${spec.groups[series(one).group]?.name ?? spec.y_title ?? ""}: ${format(one.value[1])}`)];
  };

  const swatch = (group) => {
    const box = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    box.setAttribute("viewBox", "0 0 12 12");
    box.setAttribute("aria-hidden", "true");
    path.setAttribute("d", shapes[group.shape] ?? shapes.circle);
    path.style[group.hollow ? "stroke" : "fill"] = `var(--${group.colour.slice(1)})`;
    path.style[group.hollow ? "fill" : "stroke"] = "none";
    if (group.hollow) path.style.strokeWidth = "2";
    box.append(path);
    return box;
  };

  const legend = (state) => {
    const box = state.figure.querySelector(".legend");
    if (state.spec.groups.length < 2) return;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Legend: select a name to hide or show it");
    state.spec.groups.forEach((group, number) => {
      const button = document.createElement("button");
      const name = document.createElement("bdi");
      button.type = "button";
      name.textContent = group.name;
      button.append(swatch(group), name);
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const on = state.hidden.delete(number) || !state.hidden.add(number);
        button.setAttribute("aria-pressed", String(on));
        hide(state);
      });
      box.append(button);
    });
  };
  const hide = (state) => {
    state.spec.option.series.forEach((series, place) => {
      const type = state.hidden.has(series.group) ? "legendUnSelect" : "legendSelect";
      state.chart.dispatchAction({ type, name: `s${place}` });
    });
  };

  const optionOf = (state) => {
    const option = coloured(state.spec.option);
    option.series.forEach((series, place) => { series.name = `s${place}`; });
    option.legend = { show: false, data: option.series.map((series) => series.name) };
    option.animation = !still.matches;
    option.textStyle = { fontFamily: getComputedStyle(document.body).fontFamily };
    Object.assign((option.tooltip ??= {}), {
      backgroundColor: colour("card"), borderColor: colour("grid"), textStyle: { color: colour("ink") },
      formatter: (params) => { const lines = linesOf(state.spec, params); return lines ? tip(lines) : ""; },
    });
    if (state.spec.narrow && state.canvas.clientWidth < 560) {
      for (const [part, more] of Object.entries(state.spec.narrow)) {
        const into = option[part];
        for (const [name, value] of Object.entries(more)) {
          into[name] = typeof value === "object" ? { ...into[name], ...value } : value;
        }
      }
    }
    return option;
  };

  const draw = (state) => {
    if (!state.canvas.clientWidth) return; // collapsed: drawn when it is opened
    state.chart?.dispose();
    state.chart = echarts.init(state.canvas, null, { renderer: "svg" });
    state.before?.(state);
    state.chart.setOption(optionOf(state));
    hide(state);
  };

  const all = [...document.querySelectorAll("figure.chart")].map((figure) => {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const state = { figure, spec, canvas: figure.querySelector(".canvas"), hidden: new Set(), chart: null };
    legend(state);
    let width = 0;
    new ResizeObserver(() => {
      const now = state.canvas.clientWidth;
      if (!now) return; // collapsed
      if (!state.chart || (width < 560) !== (now < 560)) draw(state);
      else state.chart.resize();
      width = now;
    }).observe(state.canvas);
    return state;
  });
  document.addEventListener("themechange", () => all.forEach((state) => state.chart && draw(state)));
  for (const event of ["beforeprint", "afterprint"]) {
    window.addEventListener(event, () => all.forEach((state) => state.chart && draw(state)));
  }
  return { all, draw, still };
})();
