'use strict';
// Draws what the page's JSON holds. Texts are only ever set as text.
const data = JSON.parse(document.getElementById('data').textContent);
const root = document.documentElement;
const css = name => getComputedStyle(root).getPropertyValue(name).trim();
const kinds = {scatter: '--conf', head: '--elig', external: '--conf', exact_external: '--cand', exact: '--elig', none: '--exact', negative: '--soft', wrong_reuse: '--warn', excluded: '--bad', unmeasured: '--line'};
const named = {external: 'semantic', scatter: 'semantic, scattered', head: 'semantic, head', exact_external: 'exact, external', exact: 'exact prefix', none: 'no reuse', negative: 'negative control', wrong_reuse: 'wrong-reuse control', excluded: 'excluded', unmeasured: 'not measured'};
const pairs = data.pairs.filter(p => p.cold !== null && p.warm !== null);
const charts = {};

function chart(id, option) {
  const place = document.getElementById(id);
  if (!place) return;
  const ink = css('--ink'), soft = css('--soft'), line = css('--line');
  const axis = {axisLine: {lineStyle: {color: soft}}, axisLabel: {color: soft}, splitLine: {lineStyle: {color: line}}, nameTextStyle: {color: soft}, nameLocation: 'middle'};
  for (const key of ['xAxis', 'yAxis']) option[key] = {...axis, nameGap: key === 'xAxis' ? 26 : 40, ...option[key]};
  charts[id] = charts[id] || echarts.init(place, null, {renderer: 'canvas'});
  charts[id].setOption({animation: false, textStyle: {color: ink}, grid: {left: 56, right: 18, top: 34, bottom: 42}, legend: {top: 0, textStyle: {color: ink}}, tooltip: {trigger: 'item', renderMode: 'richText'}, ...option}, true);
}

function points(kind, list, x, y) {
  return {name: named[kind] || kind, type: 'line', lineStyle: {width: 0}, symbol: 'circle', symbolSize: 8, showSymbol: true, color: css(kinds[kind] || '--accent'),
    data: list.map(p => ({value: [x(p), y(p)], name: p.pair + ' ' + p.transform}))};
}

const byKind = () => Map.groupBy ? [...Map.groupBy(pairs, p => p.kind)] : Object.entries(pairs.reduce((m, p) => ((m[p.kind] = m[p.kind] || []).push(p), m), {}));
const round = x => Math.round(x * 100) / 100;
const tip = unit => p => (p.data.name || p.seriesName) + '\n' + round(p.value[0]) + ' ' + unit[0] + ', ' + round(p.value[1]) + ' ' + unit[1];

function draw() {
  if (!pairs.length) return;
  const top = Math.ceil(Math.max(...pairs.map(p => Math.max(p.cold, p.warm))) * 1.05);
  const identity = {name: 'no gain', type: 'line', symbol: 'none', lineStyle: {type: 'dashed', color: css('--soft'), width: 1}, color: css('--soft'), data: [[0, 0], [top, top]]};
  chart('scatter', {xAxis: {type: 'value', name: 'cold, ms', max: top}, yAxis: {type: 'value', name: 'warm, ms', max: top}, tooltip: {trigger: 'item', renderMode: 'richText', formatter: tip(['ms cold', 'ms warm'])},
    series: [...byKind().map(([kind, list]) => points(kind, list, p => p.cold, p => p.warm)), identity]});
  const used = pairs.filter(p => !['negative', 'wrong_reuse', 'excluded'].includes(p.kind));
  const ecdf = (name, values, colour) => ({name, type: 'line', step: 'end', symbol: 'none', color: css(colour), data: values.sort((a, b) => a - b).map((v, i) => [v, (i + 1) / values.length])});
  chart('ecdf', {xAxis: {type: 'value', name: 'TTFT, ms', scale: true}, yAxis: {type: 'value', name: 'share of pairs', max: 1}, tooltip: {trigger: 'axis', renderMode: 'richText', formatter: list => list.map(p => p.seriesName + ' ' + round(p.value[0]) + ' ms: ' + round(p.value[1])).join('\n')},
    series: [ecdf('cold', used.map(p => p.cold), '--soft'), ecdf('warm', used.map(p => p.warm), '--accent')]});
  chart('length', {xAxis: {type: 'value', name: 'prompt tokens', scale: true}, yAxis: {type: 'value', name: 'cold / warm'}, tooltip: {trigger: 'item', renderMode: 'richText', formatter: tip(['tokens', 'x'])},
    series: byKind().map(([kind, list]) => points(kind, list, p => p.tokens, p => p.cold / p.warm))});
  const counts = byKind().map(([kind, list]) => ({name: named[kind] || kind, value: list.length, itemStyle: {color: css(kinds[kind] || '--accent')}}));
  chart('mechanisms', {xAxis: {type: 'value', name: 'pairs', minInterval: 1}, yAxis: {type: 'category', data: counts.map(c => c.name)}, legend: {show: false}, grid: {left: 150, right: 18, top: 14, bottom: 42}, series: [{type: 'bar', data: counts}]});
}

const cells = r => [r.item, r.transform, r.arm, r.control, r.tokens, r.ttft === null ? 'not measured' : r.ttft.toFixed(1) + ' ms', r.cached ?? 'not measured', r.semantic ?? 'not measured', r.mechanism, r.excluded];
const body = document.getElementById('rows');
const most = 500;
function table() {
  const words = document.getElementById('filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = data.rows.filter(r => { const t = [r.item, r.transform, r.arm, r.control, r.mechanism, r.excluded].join(' ').toLowerCase(); return words.every(w => t.includes(w)); });
  body.replaceChildren(...fits.slice(0, most).map(r => {
    const tr = document.createElement('tr');
    tr.tabIndex = 0;
    for (const c of cells(r)) { const td = document.createElement('td'); td.textContent = c; tr.append(td); }
    tr.onclick = () => show(r.pair);
    tr.onkeydown = e => { if (e.key === 'Enter') show(r.pair); };
    return tr;
  }));
  document.getElementById('shown').textContent = `${Math.min(fits.length, most)} of ${fits.length} fitting rows shown, ${data.rows.length} in all`;
}
function show(pair) {
  const place = document.getElementById('pair');
  place.replaceChildren(...data.rows.filter(r => r.pair === pair && pair !== '').map(r => {
    const pre = document.createElement('pre');
    pre.textContent = `${r.item}  ${r.arm}  ${r.ttft === null ? 'TTFT not measured' : r.ttft.toFixed(1) + ' ms'}\n\n${r.output}`;
    return pre;
  }));
}
document.getElementById('filter').oninput = table;
document.getElementById('theme').onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
  draw();
};
const defined = Object.fromEntries([...document.querySelectorAll('#definitions tr')].map(tr => [tr.cells[0].textContent, tr.cells[1].textContent]));
for (const a of document.querySelectorAll('abbr[data-key]')) a.title = a.dataset.key + ': ' + (defined[a.dataset.key] || '');
addEventListener('resize', () => Object.values(charts).forEach(c => c.resize()));
draw();
table();
