// The slider of an embedding map: the points move from one stage to the next.
"use strict";
for (const state of phasefitCharts.all.filter((one) => one.spec.stages)) {
  const { figure, spec } = state;
  const slider = figure.querySelector("input[type=range]");
  const output = figure.querySelector("output");
  const play = figure.querySelector(".play");
  let timer = null;

  // Each series is one class; its points have the index of their row, and a row has the class and the text.
  const points = (stage) => spec.option.series.map((series) =>
    series.rows.map((row) => ({ value: spec.stages[stage].points[row], tip: spec.rows[row] })));
  const show = () => {
    const stage = Number(slider.value);
    const { name, note } = spec.stages[stage];
    output.replaceChildren();
    for (const [kind, text] of [["strong", name], ["span", note]]) {
      const part = document.createElement(kind);
      part.textContent = text;
      output.append(part);
    }
    slider.setAttribute("aria-valuetext", name);
    state.chart?.setOption({ series: points(stage).map((data) => ({ data })) });
  };
  state.before = () => points(Number(slider.value)).forEach((data, place) => { spec.option.series[place].data = data; });
  slider.addEventListener("input", () => { stop(); show(); });
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (Number(slider.value) >= Number(slider.max)) { slider.value = "0"; show(); }
    play.textContent = "Stop";
    timer = setInterval(() => {
      slider.value = String(Number(slider.value) + 1);
      show();
      if (Number(slider.value) >= Number(slider.max)) stop();
    }, 1600);
  });
  show();
}
