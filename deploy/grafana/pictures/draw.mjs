// Draws every dashboard as one SVG: the layout, titles, units and colours of the generated JSON, and the answers that the
// test of the queries wrote. No figure is made up here. node draw.mjs ANSWERS OUTDIR
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as echarts from 'echarts';
import { bars, calendar, format, paint, stats, table, text } from './shapes.mjs';

const [answersFile, outDir] = process.argv.slice(2);
const data = JSON.parse(readFileSync(answersFile, 'utf8'));
const here = dirname(fileURLToPath(import.meta.url));
const cell = { w: 60, h: 34, gap: 8 };
const head = 64;

// wide turns rows of a plot (time, value… or time, label, value) into series.
function wide(answer) {
  const cols = answer.columns;
  const series = new Map();
  const add = (name, row, value) => {
    if (!series.has(name)) series.set(name, []);
    series.get(name).push([Date.parse(row[0].replace(' ', 'T') + 'Z'), Number(value)]);
  };
  for (const row of answer.rows ?? []) {
    if (cols[1].Class === 'text') add(row[1], row, row[2]);
    else cols.slice(1).forEach((c, i) => add(c.Name.replaceAll('_', ' '), row, row[i + 1]));
  }
  return [...series].map(([name, points]) => ({ name, points }));
}

const seriesOf = (answers) => answers.flatMap((a) => (a.kind === 'clickhouse' ? wide(a) : a.series ?? []));

// nice puts the ticks of bytes at round numbers of bytes, and shows a share of the whole.
function nice(list, d) {
  if (d.unit === 'percentunit') return { max: 1, interval: 0.25 };
  if (d.unit !== 'bytes') return {};
  const top = Math.max(1, ...list.flatMap((s) => s.points.map((p) => p[1])));
  const interval = 2 ** Math.ceil(Math.log2(top / 4));
  return { interval, max: Math.ceil(top / interval) * interval };
}

// span is the time that was watched: all lines are drawn over it.
const watched = data.answers.filter((a) => a.kind === 'prometheus').flatMap((a) => (a.series ?? []).flatMap((s) => s.points.map((p) => p[0])));
const span = [watched.reduce((a, b) => Math.min(a, b)), watched.reduce((a, b) => Math.max(a, b))];

function chart(panel, answers, w, h) {
  const d = panel.fieldConfig.defaults;
  const list = seriesOf(answers).sort((a, b) => a.name.localeCompare(b.name));
  const asBars = d.custom.drawStyle === 'bars';
  const daily = answers[0].kind === 'clickhouse' && list.every((s) => s.points.every(([t]) => t % 86400000 === 0));
  const times = [...new Set(list.flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b);
  const label = (t) => (daily ? new Date(t).toISOString().slice(5, 10) : new Date(t).toISOString().slice(11, 19));
  const c = echarts.init(null, null, { renderer: 'svg', ssr: true, width: w, height: h });
  const rows = Math.ceil(list.length / Math.max(1, Math.floor(w / 150)));
  c.setOption({
    animation: false,
    color: list.map((s, i) => paint(s.name, i)),
    grid: { left: 8, right: asBars ? 12 : 30, top: 10, bottom: Math.min(3, rows) * 18 + 8, containLabel: true },
    legend: { bottom: 0, left: 4, type: 'plain', itemWidth: 12, itemHeight: 4, itemGap: 22, icon: 'rect', textStyle: { color: '#ccccdc', fontSize: 11 } },
    xAxis: asBars
      ? { type: 'category', data: times.map(label), axisLabel: { color: '#9fa0a8', fontSize: 11 }, axisTick: { show: false }, axisLine: { lineStyle: { color: '#35383e' } } }
      : { type: 'time', min: span[0], max: span[1], axisLabel: { color: '#9fa0a8', fontSize: 11, hideOverlap: true, formatter: label }, splitNumber: 4, axisLine: { lineStyle: { color: '#35383e' } } },
    yAxis: { type: 'value', min: (v) => Math.min(0, v.min), ...nice(list, d), minInterval: d.unit === 'short' ? 1 : 0, splitNumber: 4, axisLabel: { color: '#9fa0a8', fontSize: 11, formatter: (v) => format(v, d.unit) }, splitLine: { lineStyle: { color: '#2a2d33' } } },
    series: list.map((s) => {
      const at = new Map(s.points);
      return asBars
        ? { name: s.name, type: 'bar', stack: d.custom.stacking ? 'a' : undefined, barMaxWidth: 28, data: times.map((t) => at.get(t) ?? '-'), silent: true }
        : { name: s.name, type: 'line', showSymbol: s.points.length === 1, lineStyle: { width: 1.5 }, data: s.points, silent: true };
    }),
  });
  const svg = c.renderToSVGString();
  c.dispose();
  return svg;
}

function body(panel, answers, w, h) {
  switch (panel.type) {
    case 'stat': return stats(panel, seriesOf(answers), w, h);
    case 'bargauge': return bars(panel, seriesOf(answers), w, h);
    case 'table': return table(answers[0], w, h);
    case 'status-history': return calendar(answers[0], data.states, w, h);
    default: return chart(panel, answers, w, h);
  }
}

function board(meta) {
  const d = JSON.parse(readFileSync(join(here, '..', 'dashboards', meta.Name + '.json'), 'utf8'));
  const width = 24 * cell.w + cell.gap;
  let bottom = 0;
  const parts = d.panels.map((p, i) => {
    const answers = data.answers.filter((a) => a.panel === meta.Name + '/' + meta.Panels[i].Name);
    const g = p.gridPos;
    const [x, y] = [cell.gap + g.x * cell.w, head + g.y * cell.h];
    const [w, h] = [g.w * cell.w - cell.gap, g.h * cell.h - cell.gap];
    bottom = Math.max(bottom, y + h);
    const inner = body(p, answers, w - 16, h - 38).replace(/^<svg /, '<svg x="8" y="32" ');
    return `<svg x="${x}" y="${y}" width="${w}" height="${h}"><rect width="${w}" height="${h}" rx="3" fill="#181b1f" stroke="#2a2d33"/>` +
      text(10, 21, p.title, { weight: 600, size: 13, max: w - 20 }) + inner + '</svg>';
  });
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${bottom + cell.gap}" viewBox="0 0 ${width} ${bottom + cell.gap}" font-family="Inter, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif">` +
    `<rect width="100%" height="100%" fill="#111217"/>` + text(cell.gap + 4, 28, d.title, { size: 20, weight: 600 }) +
    text(cell.gap + 4, 50, 'preview, not Grafana: drawn from the real answers of the queries over a made-up book', { size: 12, fill: '#9fa0a8' }) + parts.join('') + '</svg>';
  writeFileSync(join(outDir, meta.Name + '.svg'), svg);
  console.log(meta.Name, Math.round(svg.length / 1024) + ' kB');
}

mkdirSync(outDir, { recursive: true });
data.boards.forEach(board);
process.exit(0); // ECharts keeps timers
