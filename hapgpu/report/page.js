// The style of all pages: charts, and light or dark as the browser chooses.
"use strict";
window.hapgpu = (() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const style = JSON.parse("CHART_CONFIG");

  function config() {
    const root = getComputedStyle(document.documentElement);
    const [ink, soft, line] = ["--ink", "--soft", "--line"].map((name) =>
      root.getPropertyValue(name).trim());
    const words = { labelColor: soft, titleColor: ink };
    return {
      ...style,
      background: "transparent",
      axis: { ...style.axis, ...words, domainColor: soft, tickColor: soft, gridColor: line },
      legend: { ...style.legend, ...words },
      header: words,
    };
  }

  async function draw(place) {
    const spec = JSON.parse(place.parentElement.querySelector(".spec").textContent);
    if (!("hconcat" in spec || "vconcat" in spec)) {
      spec.width ??= "container";
      spec.autosize ??= { type: "fit-x", contains: "padding" };
    }
    await vegaEmbed(place, spec, {
      mode: "vega-lite",
      renderer: spec.usermeta?.renderer ?? "svg",
      config: config(),
      actions: { export: true, source: false, compiled: false, editor: false },
    });
  }

  function drawAll() {
    hapgpu.drawn = Promise.all([...document.querySelectorAll("figure > .chart")].map(draw));
  }

  function follow() {
    // The libraries of tables and of alignments take their colours from this class.
    document.documentElement.classList.toggle("dark", dark.matches);
  }

  follow();
  dark.addEventListener("change", () => { follow(); drawAll(); });
  document.addEventListener("DOMContentLoaded", drawAll);
  return { drawn: null };
})();
