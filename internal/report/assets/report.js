'use strict';
// Draws what the page's JSON holds. Foreign texts are only ever set as text.
const data = JSON.parse(document.getElementById('data').textContent);
const root = document.documentElement;
const css = name => getComputedStyle(root).getPropertyValue(name).trim();
const col = Object.fromEntries(data.columns.map((name, i) => [name, i]));
const texts = data.texts; // the first columns are places in data.strings
const get = (row, name) => { const v = data.rows[row][col[name]]; return col[name] < texts ? data.strings[v] : v; };
const unmeasured = 'not measured';
const ms = v => v === null ? unmeasured : v.toFixed(1) + ' ms';
const make = (tag, content, cls) => { const e = document.createElement(tag); if (content !== undefined) e.textContent = content; if (cls) e.className = cls; return e; };

/* colours and symbols */
const colours = {used: '--ink', external: '--conf', scatter: '--conf', head: '--elig', exact_external: '--cand', exact: '--exact', none: '--none', unmeasured: '--none', negative: '--neg', wrong_reuse: '--wrong', excluded: '--gone', floor: '--wrong',
  'arm-cold': '--cold', 'arm-warm': '--warm', 'arm-exact': '--none', 'arm-sham': '--neg', 'arm-aa': '--elig', 'arm-single': '--ink', 'canary-pass': '--good', 'canary-fail': '--bad', 'canary-not_exercised': '--none'};
const transformColours = ['#4477aa', '#cc6677', '#228833', '#aa8800', '#33a0c0', '#aa3377', '#777777', '#e07b39', '#7a6ff0', '#5a8f29']; // told apart by the colour-blind too
const colour = kind => /^t\d$/.test(kind) ? transformColours[kind[1]] : css(colours[kind] || '--accent');
const shapes = ['circle', 'rect', 'triangle', 'diamond', 'pin'];
const symbolOf = kind => /^t\d$/.test(kind) ? shapes[kind[1] % 5] : symbols[kind] || 'circle';
const symbols = {negative: 'diamond', wrong_reuse: 'triangle', excluded: 'path://M2,0 L10,8 L18,0 L20,2 L12,10 L20,18 L18,20 L10,12 L2,20 L0,18 L8,10 L0,2 Z', scatter: 'rect', head: 'rect', exact_external: 'roundRect'};

/* charts */
const drawn = {}, hidden = {};
const round = x => Math.abs(x) >= 100 ? Math.round(x) : Math.round(x * 100) / 100;
function bounds(chart, side) {
  let lo = Infinity, hi = -Infinity;
  for (const s of chart.series) for (const p of s.points) for (const v of [p[side], p[side + 'lo'], p[side + 'hi']]) if (v !== undefined && v !== null) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
  for (const l of chart.lines || []) if (l.dir === side && chart.id !== 'timeline') { lo = Math.min(lo, l.at); hi = Math.max(hi, l.at); }
  return [lo, hi];
}
function axis(chart, side, bars) {
  const a = chart[side], soft = css('--soft');
  const out = {type: a.log ? 'log' : 'value', name: a.title, nameLocation: 'middle', nameGap: side === 'x' ? 28 : 44, nameTextStyle: {color: soft, fontSize: 12}, axisLine: {show: true, lineStyle: {color: css('--line')}}, axisTick: {show: false},
    axisLabel: {color: soft, fontSize: 11.5, hideOverlap: true}, splitLine: {lineStyle: {color: css('--faint')}}};
  if (a.categories) {
    if (bars) return {...out, type: 'category', data: a.categories, name: ''};
    const places = a.categories.map((_, i) => i);
    return {...out, min: -0.5, max: a.categories.length - 0.5, name: side === 'y' ? '' : a.title, splitLine: {show: false}, axisLabel: {...out.axisLabel, customValues: places, formatter: v => a.categories[v] || ''}, axisTick: {show: false, customValues: places}};
  }
  let [lo, hi] = bounds(chart, side);
  if (!isFinite(lo)) return out;
  if (a.log) return {...out, min: lo / 1.15, max: (a.max || hi) * 1.1};
  if (a.max) hi = a.max;
  if (a.zero) lo = 0;
  if (chart.id === 'timeline' && side === 'x') return {...out, min: 0, max: hi + 1, axisLabel: {...out.axisLabel, showMaxLabel: false}};
  if (lo === hi) { lo -= Math.abs(lo) * 0.05 || 0.5; if (hi !== a.max) hi += Math.abs(hi) * 0.05 || 0.5; }
  const raw = (hi - lo) / 5, ten = Math.pow(10, Math.floor(Math.log10(raw))), step = ten * [1, 2, 2.5, 5, 10].find(m => m * ten >= raw * 0.999);
  const near = v => Math.round(v / step * 1e9) / 1e9;
  return {...out, min: Math.floor(near(lo)) * step, max: Math.ceil(near(hi)) * step, interval: step, axisLabel: {...out.axisLabel, formatter: v => String(Math.round(v * 10000) / 10000)}};
}
function tip(chart) {
  return q => {
    const p = q.data && q.data.point;
    if (!p) return q.seriesName;
    const head = p.row >= 0 ? [get(p.row, 'item') + ', ' + get(p.row, 'transform'), q.seriesName] : [p.label || q.seriesName];
    const range = (v, lo, hi) => round(v) + (lo !== undefined && hi !== undefined ? ' [' + round(lo) + ', ' + round(hi) + ']' : '');
    const words = [];
    if (!chart.x.categories) words.push(chart.x.title + ': ' + range(p.x, p.xlo, p.xhi));
    if (!chart.y.categories) words.push(chart.y.title + ': ' + range(p.y, p.ylo, p.yhi));
    return [...head, ...words].join('\n');
  };
}
function series(chart, s) {
  const c = colour(s.kind), base = {name: s.name, color: c, itemStyle: {color: c}, animation: false};
  const at = s.points.map(p => ({value: [p.x, p.y], point: p}));
  const many = s.points.length > 1500;
  if (s.shape === 'step') return [{...base, type: 'line', step: 'end', symbol: 'none', lineStyle: {color: c, width: 2}, data: at}];
  if (s.shape === 'bars') return [{...base, type: 'bar', stack: 'all', barMaxWidth: 22, data: s.points.map(p => ({value: p.x, point: p})), label: {show: true, color: css('--card'), formatter: q => q.value || '', fontSize: 11.5}}];
  const dots = {...base, type: 'scatter', symbol: symbolOf(s.kind), symbolSize: s.shape === 'intervals' ? (v, q) => q.data.point.row < 0 ? 12 : 6 : many ? 4 : 9, itemStyle: {color: c, opacity: many ? 0.5 : 0.85, borderColor: css('--card'), borderWidth: many ? 0 : 1}, data: at, z: s.shape === 'intervals' ? 5 : 3, large: s.points.length > 5000, clip: s.shape !== 'intervals', cursor: 'pointer'};
  if (s.shape !== 'intervals') return [dots];
  const bar = (lo, hi, place, size) => {
    const ends = [];
    for (const p of s.points) if (p[lo] !== undefined && p[hi] !== undefined) ends.push({value: place(p, p[lo]), point: p}, {value: place(p, p[hi]), point: p}, {value: [NaN, NaN]});
    return {...base, type: 'line', symbol: 'rect', symbolSize: size, showAllSymbol: true, connectNulls: false, lineStyle: {color: c, width: 2}, data: ends, z: 4};
  };
  return [dots, bar('xlo', 'xhi', (p, v) => [v, p.y], [2, 9]), bar('ylo', 'yhi', (p, v) => [p.x, v], [9, 2])];
}
function lines(chart, x, y) {
  const soft = css('--soft'), out = [];
  const marks = (chart.lines || []).filter(l => l.dir !== 'diagonal').map(l => ({[l.dir + 'Axis']: l.at, name: l.name, lineStyle: {color: l.kind.startsWith('canary') || l.kind === 'floor' ? colour(l.kind) : soft, type: l.kind.startsWith('canary') ? 'solid' : 'dashed', width: l.kind.startsWith('canary') ? 1.5 : 1}, label: {show: l.kind === 'floor', formatter: l.name, position: 'insideEndBottom', color: colour(l.kind), fontSize: 11}}));
  if (marks.length) out.push({type: 'line', data: [], markLine: {silent: true, symbol: 'none', animation: false, data: marks}});
  if ((chart.lines || []).some(l => l.dir === 'diagonal')) {
    const from = Math.max(x.min, y.min), to = Math.min(x.max, y.max);
    out.push({name: 'no gain', type: 'line', symbol: 'none', silent: true, lineStyle: {type: 'dashed', color: soft, width: 1}, data: [[from, from], [to, to]]});
  }
  return out;
}
function draw(chart) {
  const figure = document.querySelector(`figure[data-chart="${chart.id}"]`), place = figure && figure.querySelector('.plot');
  if (!place) return;
  const bars = chart.series.some(s => s.shape === 'bars');
  if (chart.y.categories) place.style.height = Math.max(bars ? 200 : 300, 64 + 27 * chart.y.categories.length) + 'px';
  const x = axis(chart, 'x', bars), y = axis(chart, 'y', bars);
  const off = hidden[chart.id] = hidden[chart.id] || new Set();
  const list = chart.series.filter(s => !off.has(s.name)).flatMap(s => series(chart, s));
  const left = chart.y.categories ? Math.min(190, 16 + 6.6 * Math.max(...chart.y.categories.map(c => c.length))) : 58;
  const c = drawn[chart.id] = drawn[chart.id] || echarts.init(place, null, {renderer: 'canvas'});
  c.setOption({animation: false, textStyle: {color: css('--ink'), fontFamily: getComputedStyle(document.body).fontFamily}, grid: {left, right: 22, top: 12, bottom: 44}, xAxis: x, yAxis: y,
    tooltip: {trigger: 'item', renderMode: 'richText', backgroundColor: css('--ink'), borderWidth: 0, padding: [6, 10], textStyle: {color: css('--bg'), fontSize: 12}, formatter: tip(chart)}, series: [...lines(chart, x, y), ...list]}, true);
  c.resize();
  c.off('click');
  c.on('click', q => { const p = q.data && q.data.point; if (p && p.row >= 0) show(p.row, true); });
  legend(chart, figure.querySelector('.legend'), off);
}
function swatch(kind, shape) {
  const ns = 'http://www.w3.org/2000/svg', svg = document.createElementNS(ns, 'svg');
  svg.setAttribute('viewBox', '0 0 12 12');
  svg.setAttribute('aria-hidden', 'true');
  const mark = document.createElementNS(ns, 'path'), c = colour(kind);
  const d = shape === 'line' || shape === 'step' ? 'M0 6H12' : shape === 'vertical' ? 'M6 0V12' : shape === 'bars' ? 'M1 2H11V10H1Z' : kind === 'negative' ? 'M6 1L11 6L6 11L1 6Z' : kind === 'wrong_reuse' ? 'M6 1L11 10.5H1Z' : kind === 'excluded' ? 'M2 2L10 10M10 2L2 10' : 'M1.5 6a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0';
  const stroke = shape === 'line' || shape === 'step' || shape === 'vertical' || kind === 'excluded';
  mark.setAttribute('d', d);
  mark.setAttribute('fill', stroke ? 'none' : c);
  if (stroke) { mark.setAttribute('stroke', c); mark.setAttribute('stroke-width', '2'); if (shape === 'line') mark.setAttribute('stroke-dasharray', '3 2'); }
  svg.append(mark);
  return svg;
}
function legend(chart, place, off) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.name : null;
  place.replaceChildren();
  for (const s of chart.series) {
    const b = make('button');
    b.type = 'button';
    b.dataset.name = s.name;
    b.setAttribute('aria-pressed', String(!off.has(s.name)));
    const n = s.shape === 'points' ? ' ' + s.points.length : '';
    b.append(swatch(s.kind, s.shape), make('span', s.name + n));
    b.lastChild.style.padding = 0;
    b.onclick = () => { off.has(s.name) ? off.delete(s.name) : off.add(s.name); draw(chart); };
    place.append(b);
    if (s.name === focused) b.focus();
  }
  const seen = new Set();
  for (const l of chart.lines || []) {
    if (seen.has(l.name)) continue;
    seen.add(l.name);
    const e = make('span');
    e.append(swatch(l.kind, l.kind.startsWith('canary') ? 'vertical' : 'line'), document.createTextNode(l.name));
    place.append(e);
  }
}
const drawAll = () => data.charts.filter(c => !c.empty).forEach(draw);
const redraw = () => data.charts.filter(c => drawn[c.id]).forEach(draw);

/* the table of rows */
const shownColumns = [['item', 'item'], ['transform', 'transform'], ['arm', 'arm'], ['control', 'control'], ['tokens', 'prompt tokens'], ['ttft', 'TTFT'], ['cached', 'cached tokens'], ['semantic', 'semantic tokens'], ['mechanism', 'mechanism'], ['f1', 'F1'], ['excluded', 'excluded']];
const numeric = new Set(['tokens', 'ttft', 'cached', 'semantic', 'f1']);
const step = 200;
let limit = step, order = null, ascending = true, selected = '';
let haystack; // made at the first search
const searched = i => (haystack = haystack || data.rows.map((_, i) => ['item', 'transform', 'arm', 'control', 'mechanism', 'excluded', 'class', 'isolation', 'error', 'audit'].map(n => get(i, n)).join(' ').toLowerCase()))[i];
const cell = (i, name) => { const v = get(i, name); return v === null ? unmeasured : name === 'ttft' ? ms(v) : name === 'speedup' ? v.toFixed(2) + 'x' : name === 'f1' || name === 'agreement' ? v.toFixed(3) : String(v).replaceAll('_', ' '); };
const el = id => document.getElementById(id);
function option(id, name) {
  const values = [...new Set(data.rows.map((_, i) => get(i, name)))].filter(Boolean).sort();
  for (const v of values) { const o = make('option', v.replaceAll('_', ' ')); o.value = v; el(id).append(o); }
}
function table() {
  const words = el('filter').value.toLowerCase().split(/\s+/).filter(Boolean), arm = el('by-arm').value, mechanism = el('by-mechanism').value, fate = el('by-fate').value;
  let fits = [];
  for (let i = 0; i < data.rows.length; i++) {
    if (arm && get(i, 'arm') !== arm || mechanism && get(i, 'mechanism') !== mechanism) continue;
    if (fate === 'excluded' && !get(i, 'excluded') || fate === 'kept' && get(i, 'excluded') || fate === 'control' && !get(i, 'control')) continue;
    if (words.every(w => searched(i).includes(w))) fits.push(i);
  }
  if (order) fits.sort((a, b) => {
    const x = get(a, order), y = get(b, order);
    if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1; // not measured comes last
    const c = numeric.has(order) ? x - y : String(x).localeCompare(String(y));
    return (ascending ? c : -c) || a - b;
  });
  el('heads').replaceChildren(...shownColumns.map(([name, title]) => {
    const th = make('th', undefined, numeric.has(name) ? 'n' : ''), b = make('button', title);
    b.type = 'button';
    if (order === name) th.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
    b.onclick = () => { ascending = order === name ? !ascending : true; order = name; table(); document.querySelectorAll('#heads button')[shownColumns.findIndex(c => c[0] === name)].focus(); };
    th.append(b);
    return th;
  }));
  el('rows').replaceChildren(...fits.slice(0, limit).map(i => {
    const tr = make('tr');
    tr.tabIndex = 0;
    if (get(i, 'pair') === selected && selected) tr.className = 'on';
    for (const [name] of shownColumns) tr.append(make('td', cell(i, name), (numeric.has(name) ? 'n' : '') + (get(i, name) === null ? ' null' : '')));
    tr.onclick = () => show(i, false);
    tr.onkeydown = e => {
      const next = e.key === 'ArrowDown' ? tr.nextSibling : e.key === 'ArrowUp' ? tr.previousSibling : null;
      if (next) { next.focus(); e.preventDefault(); }
      if (e.key === 'Enter' || e.key === ' ') { show(i, false); e.preventDefault(); }
    };
    return tr;
  }));
  el('shown').textContent = `${Math.min(fits.length, limit)} of ${fits.length} fitting rows, ${data.rows.length} in all`;
  el('more').hidden = fits.length <= limit;
}

/* one pair side by side */
const armOrder = ['cold', 'warm', 'exact', 'sham', 'aa'];
const facts = [['class', 'became'], ['ttft', 'TTFT'], ['speedup', 'cold / warm'], ['agreement', 'ROUGE-L, warm against cold'], ['tokens', 'prompt tokens'], ['cached', 'cached tokens, says the engine'], ['external', 'external tokens'], ['semantic', 'proven semantic tokens'], ['primed', 'primed by the probe'], ['mechanism', 'mechanism'], ['isolation', 'isolation'], ['audit', 'audit'], ['attribution', 'donor attribution'], ['donors', 'donors'], ['f1', 'F1 against references'], ['pass', 'answer passes'], ['leak', "states the donor's fact"], ['wrong', 'wrongly reused tokens'], ['finish', 'finish'], ['excluded', 'excluded because'], ['error', 'error']];
function outputOf(i, whole) { return whole && data.full[i] !== undefined ? data.full[i] : data.outputs[i]; }
function show(row, scroll) {
  const pair = get(row, 'pair'), place = el('pair');
  selected = pair;
  let list = data.rows.map((_, i) => i).filter(i => pair ? get(i, 'pair') === pair : i === row);
  list.sort((a, b) => armOrder.indexOf(get(a, 'arm')) - armOrder.indexOf(get(b, 'arm')) || a - b);
  let whole = false;
  const fill = () => {
    const head = make('h3', `${get(row, 'transform').replaceAll('_', ' ')}, item ${get(row, 'item')}`);
    const t = make('table'), top = make('tr');
    top.append(make('th', ''), ...list.map(i => make('th', get(i, 'arm') || 'single')));
    t.append(top);
    for (const [name, title] of facts) {
      const values = list.map(i => get(i, name));
      if (values.every(v => v === null || v === '')) continue;
      const tr = make('tr');
      tr.append(make('td', title, 'soft'), ...list.map((i, k) => make('td', values[k] === '' ? '–' : cell(i, name), values[k] === null ? 'null' : '')));
      t.append(tr);
    }
    const wide = make('div', undefined, 'wide');
    wide.append(t);
    const sides = make('div', undefined, 'sides'), first = list.length ? outputOf(list[0], whole) : null;
    for (const i of list) {
      const side = make('div'), pre = make('pre'), out = outputOf(i, whole);
      side.append(make('b', get(i, 'arm') || 'output'));
      if (out === null) pre.append(make('span', data.left ? 'not in this page for its size, or not kept: see result.json' : 'the output was not kept (--include-text)', 'null'));
      else if (i === list[0] || first === null || out === first) pre.append(document.createTextNode(out));
      else {
        let n = 0;
        while (n < out.length && n < first.length && out[n] === first[n]) n++;
        pre.append(document.createTextNode(out.slice(0, n)), make('mark', out.slice(n)));
      }
      if (i !== list[0] && out !== null && out === first) side.append(make('span', '  same as ' + (get(list[0], 'arm') || 'the first'), 'd'));
      side.append(pre);
      sides.append(side);
    }
    place.replaceChildren(head, wide, sides);
    if (list.some(i => data.full[i] !== undefined)) {
      const b = make('button', whole ? 'cut the outputs' : 'show the whole outputs');
      b.type = 'button';
      b.onclick = () => { whole = !whole; fill(); place.querySelector('button').focus(); };
      const p = make('p');
      p.append(b);
      place.append(p);
    }
  };
  fill();
  for (const tr of document.querySelectorAll('#rows tr.on')) tr.classList.remove('on');
  if (scroll) { table(); place.scrollIntoView({block: 'center'}); }
}

/* definitions on hover and focus */
const bubble = el('tip');
function explain(e) {
  const a = e.target.closest && e.target.closest('abbr.def');
  if (!a) return;
  if (a.title) { a.dataset.words = a.title; a.setAttribute('aria-description', a.title); a.removeAttribute('title'); }
  bubble.textContent = a.dataset.words;
  bubble.hidden = false;
  const r = a.getBoundingClientRect();
  bubble.style.left = Math.max(8, Math.min(r.left, innerWidth - bubble.offsetWidth - 12)) + scrollX + 'px';
  bubble.style.top = (r.bottom + 6 + bubble.offsetHeight > innerHeight ? r.top - bubble.offsetHeight - 6 : r.bottom + 6) + scrollY + 'px';
}
const quiet = () => { bubble.hidden = true; };
addEventListener('mouseover', explain);
addEventListener('focusin', explain);
addEventListener('mouseout', quiet);
addEventListener('focusout', quiet);
addEventListener('keydown', e => { if (e.key === 'Escape') { quiet(); el('pair').replaceChildren(); } });

/* light, dark, paper */
const media = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : media.matches;
el('theme').onclick = () => { root.dataset.theme = isDark() ? 'light' : 'dark'; redraw(); };
media.addEventListener('change', redraw);
let before;
addEventListener('beforeprint', () => { before = root.dataset.theme; root.dataset.theme = 'light'; drawAll(); });
addEventListener('afterprint', () => { if (before) root.dataset.theme = before; else delete root.dataset.theme; redraw(); });
addEventListener('resize', () => Object.values(drawn).forEach(c => c.resize()));

option('by-arm', 'arm');
option('by-mechanism', 'mechanism');
for (const id of ['filter', 'by-arm', 'by-mechanism', 'by-fate']) el(id).oninput = () => { limit = step; table(); };
el('more').onclick = () => { limit += step; table(); };
table();
// Thousands of points cost time that a reader of the verdict should not pay: then each chart is a task of its own.
if (data.rows.length < 2000) drawAll();
else for (const c of data.charts) if (!c.empty) setTimeout(() => draw(c));
root.dataset.ready = 'true';
