// The shapes that ECharts does not have: tiles, bars with a value, tables and the calendar of days.

export const escape = (s) => String(s).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

const perChar = 0.56; // of the size, about what the fonts need
const cut = (s, size, max) => {
  const n = Math.floor(max / (size * perChar));
  return !max || s.length <= n ? s : s.slice(0, Math.max(1, n - 1)) + '…';
};

export function text(x, y, s, o = {}) {
  const size = o.size ?? 12;
  return `<text x="${x}" y="${y}" font-size="${size}" fill="${o.fill ?? '#ccccdc'}"${o.weight ? ` font-weight="${o.weight}"` : ''}${o.anchor ? ` text-anchor="${o.anchor}"` : ''}>${escape(cut(String(s), size, o.max))}</text>`;
}

export const colours = { green: '#73bf69', yellow: '#f2cc0c', blue: '#5794f2', orange: '#ff9830', red: '#f2495c', purple: '#b877d9', text: '#ccccdc' };
const palette = ['#73bf69', '#f2cc0c', '#8ab8ff', '#ff9830', '#f2495c', '#5794f2', '#b877d9', '#96d98d', '#ffb357', '#c4162a', '#37872d', '#3274d9'];
export const paint = (_, i) => palette[i % palette.length];

export function colourOf(value, thresholds) {
  let c = thresholds?.steps?.[0]?.color ?? 'green';
  for (const s of thresholds?.steps ?? []) if (s.value !== null && value >= s.value) c = s.color;
  return colours[c] ?? c;
}

const short = (v, base, names) => {
  let i = 0;
  let n = v;
  while (Math.abs(n) >= base && i < names.length - 1) { n /= base; i++; }
  return (Number.isInteger(n) ? n : n.toFixed(Math.abs(n) < 10 ? 2 : 1)) + names[i];
};

// format writes a value in a unit of Grafana.
export function format(v, unit) {
  if (v === null || v === undefined || Number.isNaN(v)) return '–';
  switch (unit) {
    case 'bytes': return short(v, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']);
    case 'percentunit': return (v * 100).toFixed(1) + ' %';
    case 'cps': return short(v, 1000, ['', ' K']) + ' /s';
    case 'time:YYYY-MM-DD': return new Date(v).toISOString().slice(0, 10);
    case 's': {
      const a = Math.abs(v);
      if (a >= 86400) return (v / 86400).toFixed(1) + ' days';
      if (a >= 3600) return (v / 3600).toFixed(1) + ' hours';
      if (a >= 60) return (v / 60).toFixed(1) + ' mins';
      return a >= 1 || a === 0 ? (Number.isInteger(v) ? v : v.toFixed(1)) + ' s' : (v * 1000).toFixed(v < 0.01 ? 1 : 0) + ' ms';
    }
    default: return short(v, 1000, ['', ' K', ' Mil']);
  }
}

const last = (s) => s.points[s.points.length - 1][1];
const svg = (w, h, inner) => `<svg width="${w}" height="${h}">${inner}</svg>`;

export function stats(panel, list, w, h) {
  const d = panel.fieldConfig.defaults;
  if (!list.length) return svg(w, h, text(w / 2, h / 2, 'No data', { size: 20, anchor: 'middle', fill: '#9fa0a8' }));
  const across = w / list.length > 70 || h < 90;
  const [tw, th] = across ? [w / list.length, h] : [w, h / list.length];
  return svg(w, h, list.map((s, i) => {
    const [x, y] = across ? [i * tw, 0] : [0, i * th];
    const v = last(s);
    const value = d.mappings?.[0]?.options[String(v)]?.text ?? format(v, d.unit);
    const size = Math.max(12, Math.min(30, (tw - 12) / (value.length * 0.62), th * 0.45));
    const ink = '#111217';
    const over = panel.fieldConfig.overrides.find((o) => o.matcher.id === 'byRegexp' && new RegExp(o.matcher.options.slice(1, -1)).test(s.name));
    const steps = over?.properties.find((o) => o.id === 'thresholds')?.value ?? d.thresholds;
    return `<rect x="${x + 2}" y="${y + 1}" width="${tw - 4}" height="${th - 2}" rx="3" fill="${colourOf(v, steps)}"/>` +
      text(x + tw / 2, y + th / 2 - 6, s.name, { anchor: 'middle', size: 12, fill: ink, max: tw - 6 }) +
      text(x + tw / 2, y + th / 2 + size * 0.8, value, { anchor: 'middle', size, weight: 600, fill: ink });
  }).join(''));
}

export function bars(panel, list, w, h) {
  const d = panel.fieldConfig.defaults;
  const room = Math.max(1, Math.floor(h / 17));
  const shown = [...list].slice(0, room);
  const top = d.max ?? Math.max(1e-9, ...list.map(last));
  const names = Math.min(w * 0.42, Math.max(...shown.map((s) => s.name.length)) * 7.2 + 10);
  const step = Math.min(44, h / shown.length);
  return svg(w, h, shown.map((s, i) => {
    const y = i * step;
    const v = last(s);
    const full = w - names - 80;
    const c = d.color?.mode === 'thresholds' ? colourOf(v, d.thresholds) : colours[d.color?.fixedColor] ?? paint(s.name, i);
    return text(0, y + step / 2 + 4, s.name, { max: names, size: 12 }) +
      `<rect x="${names}" y="${y + 3}" width="${full}" height="${step - 6}" fill="#22252b"/>` +
      `<rect x="${names}" y="${y + 3}" width="${Math.max(1, (full * v) / top)}" height="${step - 6}" fill="${c}"/>` +
      text(w, y + step / 2 + 4, format(v, d.unit), { anchor: 'end', size: 12 });
  }).join(''));
}

export function table(answer, w, h) {
  const cols = answer.columns;
  const rows = (answer.rows ?? []).slice(0, Math.floor((h - 24) / 22));
  const cell = (v, c) => (v === null ? '' : c.Class === 'time' ? String(v).slice(0, 19) : String(v));
  const money = (i) => rows.length > 0 && rows.every((r) => /^-?\d*(\.\d+)?$/.test(cell(r[i], cols[i])));
  const want = cols.map((c, i) => Math.min(560, 18 + 7 * Math.max(c.Name.length, ...rows.map((r) => cell(r[i], c).length))));
  const all = want.reduce((a, b) => a + b, 0);
  const widths = want.map((x) => (x * w) / all);
  let x = 0;
  let out = `<rect width="${w}" height="22" fill="#22252b"/>`;
  cols.forEach((c, i) => {
    const right = money(i);
    const at = right ? x + widths[i] - 10 : x + 6;
    const o = { anchor: right ? 'end' : 'start', max: widths[i] - 10 };
    out += text(at, 15, c.Name.replaceAll('_', ' '), { ...o, weight: 600, size: 12, fill: '#8ab8ff' });
    rows.forEach((r, n) => { out += text(at, 22 + n * 22 + 16, cell(r[i], c), { ...o, size: 12 }); });
    x += widths[i];
  });
  rows.forEach((_, n) => { out += `<line x1="0" x2="${w}" y1="${44 + n * 22}" y2="${44 + n * 22}" stroke="#2a2d33"/>`; });
  const more = (answer.rows ?? []).length - rows.length;
  if (more > 0) out += text(w - 6, h, `and ${more} more rows`, { anchor: 'end', size: 11, fill: '#9fa0a8' });
  return svg(w, h, out);
}

export function calendar(answer, states, w, h) {
  const rows = answer.rows ?? [];
  const days = [...new Set(rows.map((r) => r[0].slice(0, 10)))].sort();
  const jobs = [...new Set(rows.map((r) => r[1]))].sort();
  const [left, foot] = [70, 44];
  const [cw, ch] = [(w - left) / days.length, (h - foot) / jobs.length];
  let out = '';
  jobs.forEach((j, y) => { out += text(left - 8, y * ch + ch / 2 + 4, j, { anchor: 'end', size: 12 }); });
  for (const [time, job, state] of rows) {
    const s = states.find((o) => o.Value === String(state));
    const [x, y] = [left + days.indexOf(time.slice(0, 10)) * cw, jobs.indexOf(job) * ch];
    out += `<rect x="${(x + 1).toFixed(1)}" y="${y + 2}" width="${(cw - 2).toFixed(1)}" height="${ch - 4}" rx="2" fill="${colours[s.Colour]}"/>`;
  }
  const each = Math.ceil(48 / cw);
  days.forEach((d, i) => { if (i % each === 0) out += text(left + i * cw + cw / 2, jobs.length * ch + 14, d.slice(5), { anchor: 'middle', size: 11, fill: '#9fa0a8' }); });
  states.forEach((s, i) => {
    const x = left + i * 110;
    out += `<rect x="${x}" y="${h - 13}" width="12" height="12" fill="${colours[s.Colour]}"/>` + text(x + 17, h - 3, s.Word, { size: 12 });
  });
  return svg(w, h, out);
}
