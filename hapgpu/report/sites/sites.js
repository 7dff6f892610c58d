// The table of sites of one VCF, and the view of the chosen site in IGV.
function hapgpuSites(id) {
  "use strict";
  const element = (name) => document.getElementById(`${id}-${name}`);
  const data = JSON.parse(element("data").textContent);
  const COLOURS = ["#8fb3d9", "#e8833a", "#7a5cc4", "#3a9d5d", "#c2488b", "#b3932c"];
  const NOT_CLEAR = "#b9bec6", NOT_USED = "#e4e6ea";
  const MAX_ALLELE = 24, MAX_SHORT_ALLELE = 9, MAX_VALUE = 100;

  const IGV_STYLE = `@media (max-width: 700px) {
    .igv-windowsize-panel-container, .igv-current-genome, .igv-navbar-toggle-button-container {
      display: none !important;
    } }`;

  const escaped = (value) => String(value ?? "").replace(
    /[&<>"']/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
  const cut = (allele, length = MAX_ALLELE) => allele.length > length
    ? `${allele.slice(0, Math.ceil(length / 2))}…(${allele.length})` : allele;
  const colourOf = (allele) => allele < 0 ? NOT_CLEAR : COLOURS[allele % COLOURS.length];

  const rows = data.rows.map(([site, sample, gt, gq, dp, ad, pl], number) => {
    const [contig, position, name, ref, alts, qual, filter, kind, info, locus, tag, found] =
      data.sites[site];
    const sampleName = data.samples[sample] ?? "";
    const read = data.readSamples.indexOf(sampleName);
    let depths = ad, counted = false;
    if (!depths && found && (read >= 0 || data.readSamples.length === 1)) {
      depths = found[Math.max(read, 0)];
      counted = true;
    }
    return {
      number, site, contig, position, name, alleles: [ref, ...alts], qual, filter, locus, tag,
      sample: sampleName, gt, gq, dp, depths, counted, pl, info, kind,
      genotype: genotypeOf(gt),
    };
  });

  function genotypeOf(gt) {
    const alleles = (gt ?? "").split(/[/|]/);
    if (!gt || alleles.some((allele) => allele === "." || allele === "")) return "missing";
    if (alleles.every((allele) => allele === "0")) return "reference";
    return alleles.every((allele) => allele === alleles[0]) ? "homozygous" : "heterozygous";
  }

  // Entries of INFO as pairs; a flag has no value. The sites of samples share them.
  const infoOfSite = new Map();
  function infoOf(row) {
    if (!infoOfSite.has(row.site)) {
      const entries = row.info ? row.info.split(";") : [];
      infoOfSite.set(row.site, new Map(entries.map((entry) => {
        const at = entry.indexOf("=");
        return at < 0 ? [entry, "yes"] : [entry.slice(0, at), entry.slice(at + 1)];
      })));
    }
    return infoOfSite.get(row.site);
  }

  const definitionOf = (kind, name) => {
    const words = Object.entries(data.definitions[kind] ?? {}).find(([key]) => key === name);
    return words?.[1] ?? "";
  };

  function depthText(row, length) {
    if (!row.depths) return "";
    return row.alleles.map((allele, k) => `${cut(allele, length)}: ${row.depths[k] ?? 0}`).join(", ");
  }

  // The fraction of reads that support an ALT allele, by which the column is sorted.
  function fractionOf(row) {
    const total = row.depths?.reduce((sum, depth) => sum + depth, 0) ?? 0;
    return total ? 1 - row.depths[0] / total : -1;
  }

  function depthCell(row, length) {
    if (!row.depths) return "";
    const parts = row.depths.map((depth, k) =>
      `<i style="flex:${Number(depth) || 0};background:${colourOf(k)}"></i>`);
    return `<span class="sites-bar">${parts.join("")}</span>${escaped(depthText(row, length))}`;
  }

  // A file that is exported has whole values, the page short ones.
  const shown = (value, whole = value) => (_, type, row) => {
    const plain = (type === "export" ? whole : value)(row);
    return type === "display" ? escaped(plain) : plain ?? "";
  };
  const number = (name) => (_, type, row) =>
    type === "display" ? escaped(row[name]) : type === "sort" ? row[name] ?? -1 : row[name] ?? "";
  const infoColumn = (key) => ({
    title: escaped(`INFO/${key}`), saved: `INFO/${key}`, className: "allele", visible: false,
    render: (_, type, row) => {
      const value = infoOf(row).get(key) ?? "";
      if (type === "display") return escaped(cut(value));
      return type === "sort" && value !== "" && isFinite(value) ? Number(value) : value;
    },
  });

  const hasSamples = data.samples.length > 0;
  const has = (name) => rows.some((row) => row[name] !== null && row[name] !== "");
  const columns = [
    { title: "Position", saved: "CHROM\tPOS", className: "dt-left", type: "num",
      render: (_, type, row) => {
        if (type === "sort" || type === "type") return row.number;
        return type === "export" ? `${row.contig}\t${row.position}`  // two columns, as in VCF
          : escaped(`${row.contig}:${row.position}`);
      } },
    { title: "ID", className: "wide allele", visible: has("name"),
      render: shown((row) => row.name) },
    { title: "REF", className: "allele",
      render: shown((row) => cut(row.alleles[0]), (row) => row.alleles[0]) },
    { title: "ALT", className: "allele",
      render: shown((row) => row.alleles.slice(1).map((alt) => cut(alt)).join(","),
        (row) => row.alleles.slice(1).join(",")) },
    { title: "Type", className: "wide", render: shown((row) => row.kind) },
    { title: "QUAL", className: "wide", type: "num", visible: has("qual"),
      render: number("qual") },
    { title: "FILTER", className: "wide allele", visible: has("filter"),
      render: shown((row) => row.filter) },
    { title: "Sample", className: "allele", visible: data.samples.length > 1,
      render: shown((row) => row.sample) },
    { title: "GT", visible: hasSamples, render: shown((row) => row.gt ?? "./.") },
    { title: "GQ", type: "num", visible: has("gq"), render: number("gq") },
    { title: "DP", className: "wide", type: "num", visible: has("dp"), render: number("dp") },
    { title: "Reads per allele", className: "dt-left", type: "num",
      visible: has("depths"),
      render: (_, type, row) => type === "display" ? depthCell(row, MAX_SHORT_ALLELE)
        : type === "filter" ? depthText(row) : type === "export" ? row.depths?.join(",") ?? ""
          : fractionOf(row) },
    { title: "PL", className: "wide pl", visible: has("pl"),
      render: shown((row) => row.pl) },
    ...data.info.map(infoColumn),
  ];

  // Filters besides the search of the table.
  const filters = { genotype: "", kind: "", filter: "", sample: "", gq: 0 };
  const passes = (row) => (!filters.genotype || row.genotype === filters.genotype)
    && (!filters.kind || row.kind === filters.kind)
    && (!filters.filter || row.filter === filters.filter)
    && (!filters.sample || row.sample === filters.sample)
    && (!filters.gq || (row.gq ?? -1) >= filters.gq);

  const header = (title) => columns.find((column) => column.title === title)?.saved ?? title;
  const buttons = [
    { extend: "colvis", text: "Columns", columns: ":not(:first-child)", background: false },
    { extend: "csvHtml5", text: "Save as TSV", extension: ".tsv", title: null,
      filename: data.file.replace(/\.(vcf|bcf)(\.b?gz)?$/, ""),
      fieldSeparator: "\t", fieldBoundary: "", footer: false,
      exportOptions: {
        columns: ":visible", orthogonal: "export", modifier: { search: "applied" },
        stripHtml: false, decodeEntities: false,  // symbolic alleles look like tags
        format: { header },
      } },
  ];

  const table = new DataTable(element("table"), {
    data: rows, columns, deferRender: true, autoWidth: false, order: [[0, "asc"]],
    pageLength: 10, lengthMenu: [10, 25, 50, 100],
    layout: { topStart: ["pageLength", { buttons }], topEnd: "search" },
    language: { info: "_START_ to _END_ of _TOTAL_", infoFiltered: "(filtered from _MAX_)",
      lengthMenu: "_MENU_ rows" },
    createdRow: (tr, row) => { Object.assign(tr, { tabIndex: 0 }).dataset.number = row.number; },
  });
  table.search.fixed("hapgpu", (_text, row) => passes(row));

  function chooser(label, name, values) {
    const box = document.createElement("label");
    box.textContent = label;
    const select = document.createElement("select");
    select.name = name;
    for (const value of ["", ...values]) {
      const option = document.createElement("option");
      option.value = value;
      option.textContent = value || "all";
      select.append(option);
    }
    select.addEventListener("change", () => { filters[name] = select.value; table.draw(); });
    box.append(select);
    element("filters").append(box);
  }
  if (hasSamples) {
    chooser("Genotype", "genotype", ["reference", "heterozygous", "homozygous", "missing"]);
  }
  chooser("Type", "kind", [...new Set(rows.map((row) => row.kind))]);
  const passed = [...new Set(rows.map((row) => row.filter))].filter((value) => value);
  if (passed.length > 1) chooser("FILTER", "filter", passed);
  if (data.samples.length > 1) chooser("Sample", "sample", data.samples);
  if (has("gq")) {
    const box = document.createElement("label");
    box.textContent = "GQ at least";
    const input = document.createElement("input");
    Object.assign(input, { type: "number", name: "gq", min: 0, max: 99, value: "" });
    input.addEventListener("input", () => { filters.gq = Number(input.value); table.draw(); });
    box.append(input);
    element("filters").append(box);
  }

  // The view of a site.
  const view = element("view");
  let chosen = null, browser = null, opening = Promise.resolve();
  view.innerHTML = `<div class="sites-head"><h3></h3>
    <span><button type="button" data-step="-1">Previous</button>
    <button type="button" data-step="1">Next</button></span></div>
    <div class="sites-genotypes"></div><dl class="sites-info"></dl>
    <div class="sites-key"></div><div class="sites-igv"></div>`;
  const part = (name) => view.querySelector(name);

  function mark() {
    for (const tr of element("table").querySelectorAll("tbody tr")) {
      tr.classList.toggle("chosen", chosen !== null && tr.dataset.number === String(chosen.number));
    }
  }

  table.on("draw", mark);

  function describe(row) {
    const [ref, ...alts] = row.alleles.map((allele) => cut(allele));
    part("h3").textContent = `${row.contig}:${row.position} ${ref} > ${alts.join(", ") || "."}`;
    const peers = rows.filter((other) => other.site === row.site).slice(0, 20);
    const lines = peers.filter((other) => other.sample || other.depths).map((other) => `<tr>
      <td>${escaped(other.sample || "reads")}</td><td>${escaped(other.gt ?? "")}</td>
      <td class="number">${escaped(other.gq)}</td><td>${depthCell(other)}</td>
      <td>${escaped(other.pl)}</td></tr>`);
    part(".sites-genotypes").innerHTML = `<table class="facts"><thead><tr><th>Sample</th><th>GT</th>
      <th class="number">GQ</th><th>Reads per allele</th><th>PL</th></tr></thead>
      <tbody>${lines.join("")}</tbody></table>`;
    part(".sites-info").innerHTML = [
      ["QUAL", row.qual ?? ".", ""],
      ...(row.filter || ".").split(";").map((name) =>
        ["FILTER", name, definitionOf("FILTER", name)]),
      ...[...infoOf(row)].map(([name, value]) => [name, value, definitionOf("INFO", name)]),
    ].map(([name, value, words]) => `<div title="${escaped(words)}"><dt>${escaped(name)}</dt>
      <dd>${escaped(cut(String(value), MAX_VALUE))}</dd></div>`).join("");
    const key = row.locus < 0 ? [] : row.alleles.map((allele, k) =>
      [colourOf(k), `${k ? `ALT ${k}` : "REF"}: supports ${cut(allele)}`]);
    if (key.length) {
      key.push([NOT_CLEAR, "tie: supports no allele clearly"], [NOT_USED, "does not span the site"]);
    }
    part(".sites-key").innerHTML = key.map(([colour, label]) =>
      `<span><i style="background:${colour}"></i>${escaped(label)}</span>`).join("");
  }

  function sessionOf(row) {
    const locus = JSON.parse(element(`locus-${row.locus}`).textContent);
    const reads = element(`reads-${row.locus}`).textContent;
    const first = locus.start + 1, last = locus.start + locus.bases.length;
    const fasta = `>${locus.contig}:${first}-${last} @len=${locus.length}\n${locus.bases}\n`;
    const start = row.position - 1, end = start + row.alleles[0].length;
    const middle = Math.floor((start + end) / 2), half = 60 + Math.floor((end - start) / 2);
    const from = Math.max(middle - half, locus.start), to = Math.min(middle + half, last);
    const colour = (alignment) => {
      const label = alignment.tags()[row.tag];
      if (!label) return NOT_USED;
      return label.startsWith("REF") ? colourOf(0) : colourOf(Number(label.slice(3)) || -1);
    };
    const base = {
      type: "alignment", format: "bam", url: reads, indexed: false, color: colour, colorBy: "none",
      visibilityWindow: 1000000, showInsertionText: true, showDeletionText: true,
      samplingDepth: 2000, insertionColor: "#8a2be2",
      filter: { vendorFailed: false, duplicate: false },
    };
    // IGV takes the name of a track as HTML.
    const track = (name, group, more) => ({
      ...base, name: escaped(name), ...more, filter: { ...base.filter, readgroups: [group] },
    });
    const isNarrow = window.matchMedia("(max-width: 700px)").matches;
    const own = data.readSamples.indexOf(row.sample);
    const samples = own >= 0 ? [own] : data.readSamples.map((_, k) => k).slice(0, 3);
    const tracks = [track("Candidate haplotypes", "h000", {
      showCoverage: false, displayMode: "EXPANDED", height: 24 + 15 * Math.min(locus.haplotypes, 8), order: 1,
    })];
    for (const k of samples) {
      const digits = String(k).padStart(3, "0");
      const name = data.readSamples.length > 1 ? `${data.readSamples[k]} ` : "";
      const look = {
        displayMode: "SQUISHED", squishedRowHeight: 5, coverageTrackHeight: 40,
        height: 200, autoHeight: true, maxHeight: isNarrow ? 350 : 700,
        groupBy: `tag:${row.tag}`,
      };
      tracks.push(
        track(`${name}before`, `b${digits}`, { ...look, showSoftClips: true, order: 2 + 2 * k }),
        track(`${name}after realignment`, `a${digits}`, { ...look, order: 3 + 2 * k }));
    }
    return {
      reference: {
        id: locus.contig, name: locus.contig, wholeGenomeView: false,
        fastaURL: `data:text/plain;base64,${btoa(fasta)}`,
      },
      locus: `${locus.contig}:${from + 1}-${to}`,
      roi: [{ name: "site", color: "rgba(255, 200, 0, 0.25)",
        features: [{ chr: locus.contig, start, end }] }],
      tracks,
    };
  }

  function popUpOf(values) {
    const lines = (values ?? []).filter((value) => value?.name).map((value) =>
      `<div><b>${escaped(value.name)}</b> ${escaped(value.value)}</div>`);
    return lines.length ? lines.join("") : false;
  }

  async function load(row) {
    const session = sessionOf(row);
    if (browser) {
      await browser.loadSessionObject(session);
    } else {
      browser = await igv.createBrowser(part(".sites-igv"), {
        ...session, loadDefaultGenomes: false, search: false, showChromosomeWidget: false,
        showIdeogram: false, showCenterGuideButton: false, showCursorTrackingGuideButton: false,
        showMultiSelectButton: false, showSampleNameButton: false, showSampleNames: false,
      });
      const style = document.createElement("style");
      style.textContent = IGV_STYLE;
      part(".sites-igv").shadowRoot?.append(style);
      // IGV puts names and tags of reads into its pop-ups as they are.
      browser.on("trackclick", (_track, values) => popUpOf(values));
    }
    Object.assign(view, { browser });  // for scripts
    view.dataset.shown = row.number;
  }

  function choose(row) {
    chosen = row;
    mark();
    describe(row);
    part(".sites-igv").hidden = row.locus < 0;
    if (row.locus < 0) return;
    // One after the other: IGV loads one session at a time; a site that was left is skipped.
    opening = opening.then(() => chosen === row ? load(row) : undefined).catch((error) => {
      part(".sites-key").textContent = `IGV cannot show the reads: ${error?.message ?? error}`;
    });
  }

  element("table").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("tr[data-number]")) event.target.click();
  });
  element("table").addEventListener("click", (event) => {
    const tr = event.target.closest("tbody tr[data-number]");
    if (tr) {
      choose(rows[Number(tr.dataset.number)]);
      if (view.getBoundingClientRect().top > window.innerHeight - 200) {
        view.scrollIntoView({ behavior: "smooth" });
      }
    }
  });
  view.addEventListener("click", (event) => {
    const step = Number(event.target.dataset?.step);
    if (!step) return;
    const order = table.rows({ order: "applied", search: "applied" }).indexes().toArray();
    const at = order.indexOf(chosen?.number) + step;
    if (at >= 0 && at < order.length) {
      table.page(Math.floor(at / table.page.len())).draw(false);
      choose(rows[order[at]]);
    }
  });
  if (rows.length) setTimeout(() => choose(rows[0]), 0);
}
