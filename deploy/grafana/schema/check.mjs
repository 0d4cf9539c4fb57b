// Holds every dashboard against the types that Grafana publishes as @grafana/schema: an unknown or misspelt key, a missing
// one and a wrong type are errors, also in the field configuration of a panel, which the strict decoder of the SDK that
// generates the dashboards passes over. Options and custom fields are held against the types of their panel.
// npm install && node check.mjs ../dashboards
import { readdirSync, readFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const here = dirname(fileURLToPath(import.meta.url));
const folder = process.argv[2];

// The panels in use, with the module of their types and whether they have custom fields.
const kinds = {
  stat: ['stat/panelcfg/x/StatPanelCfg_types.gen', false], bargauge: ['bargauge/panelcfg/x/BarGaugePanelCfg_types.gen', false],
  table: ['table/panelcfg/x/TablePanelCfg_types.gen', true], 'status-history': ['statushistory/panelcfg/x/StatusHistoryPanelCfg_types.gen', true],
  timeseries: ['timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen', true],
};

// What Grafana writes into its own files and the types lack: `auto` and `definition` of a variable.
function known(dashboard) {
  for (const v of dashboard.templating?.list ?? []) {
    delete v.auto;
    delete v.definition;
  }
  return dashboard;
}

// A word of an enumeration is not assignable from a string literal; the types say which words there are.
const loose = `type Loose<T> = T extends string ? \`\${T}\` : T extends number ? T : T extends (infer E)[] ? Loose<E>[] : T extends object ? { [K in keyof T]: Loose<T[K]> } : T;\n`;

const literal = (v) => JSON.stringify(v, null, 1);

function program(dashboard) {
  let out = `import type { Dashboard } from '@grafana/schema';\n`;
  Object.values(kinds).forEach(([module], i) => { out += `import type * as kind${i} from '@grafana/schema/dist/esm/raw/composable/${module}';\n`; });
  out += loose + `export const dashboard: Loose<Dashboard> = ${literal(known(dashboard))};\n`;
  dashboard.panels.forEach((p, i) => {
    const at = Object.keys(kinds).indexOf(p.type);
    const custom = p.fieldConfig.defaults.custom;
    if (at < 0 || (custom && !kinds[p.type][1])) throw new Error(`panel ${p.title}: ${p.type} is not known here, or has no custom fields`);
    out += `// ${p.title}\nexport const options${i}: Loose<Partial<kind${at}.Options>> = ${literal(p.options)};\n`;
    if (custom) out += `export const custom${i}: Loose<Partial<kind${at}.FieldConfig>> = ${literal(custom)};\n`;
  });
  return out;
}

const work = mkdtempSync(join(here, '.check-'));
try {
  const files = readdirSync(folder).filter((f) => f.endsWith('.json')).map((f) => {
    const file = join(work, f.replace('.json', '.ts'));
    writeFileSync(file, program(JSON.parse(readFileSync(join(folder, f), 'utf8'))));
    return file;
  });
  const all = ts.createProgram(files, {
    noEmit: true, strict: true, skipLibCheck: true, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, types: [],
  });
  const found = ts.getPreEmitDiagnostics(all);
  process.stderr.write(ts.formatDiagnostics(found, { getCanonicalFileName: (f) => f, getCurrentDirectory: () => work, getNewLine: () => '\n' }));
  console.log(`${files.length} dashboards, ${found.length} problems`);
  process.exitCode = found.length > 0 ? 1 : 0;
} finally {
  rmSync(work, { recursive: true });
}
