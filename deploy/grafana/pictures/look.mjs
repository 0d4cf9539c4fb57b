// Makes a PNG of an SVG.
import { readFileSync, writeFileSync } from 'node:fs';
import { Resvg } from '@resvg/resvg-js';

const [svg, png] = process.argv.slice(2);
writeFileSync(png, new Resvg(readFileSync(svg, 'utf8'), { font: { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans' } }).render().asPng());
