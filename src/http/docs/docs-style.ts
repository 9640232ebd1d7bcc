/**
 * Style of the documentation. `ch` is the width of "0": 59ch hold at most about 75 characters of a text, the length up to
 * which lines are easy to follow. Tables and code use the whole column. While a page arrives, its tables are not shown:
 * each new row may change the widths of their columns.
 */
export const docsStyle = `
:root{--hover:light-dark(#eef0f3,#20242a);--wash:light-dark(#eaf0fe,#17233f);--mark:light-dark(#fff0a8,#59480f);--good:light-dark(#0b6b41,#5fd39a);--warning:light-dark(#855200,#f0b95b);--bad:light-dark(#b3261e,#ff9389);--edge:max(1.5rem,calc((100vw - 80rem)/2))}
.top{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:.5rem 1.25rem;align-items:center;padding:.6rem var(--edge);background:var(--page);border-bottom:1px solid var(--line)}
.top a{color:inherit;text-decoration:none}.top a:hover{text-decoration:underline}
.top strong{font-weight:600;margin-right:auto}
.top form{display:flex;gap:.5rem}.top input{min-width:0;flex:1}
.top input,.top button{font:inherit;color:inherit;background:var(--raised);border:1px solid var(--line);border-radius:6px;padding:.3rem .65rem}.top button:hover{background:var(--hover)}
.skip{position:absolute;left:-100vw}.skip:focus{left:.5rem;top:.5rem;z-index:2;background:var(--page);padding:.4rem .6rem}
.columns{display:grid;grid-template-columns:14.5rem minmax(0,1fr);padding:0 var(--edge)}
.side,.outline{position:sticky;top:3.25rem;align-self:start;max-height:calc(100vh - 3.25rem);overflow-y:auto;padding:1.5rem 0 3rem}
.side{padding-right:1rem;border-right:1px solid var(--line);min-height:calc(100vh - 3.25rem)}
nav h2{font-size:.8125rem;font-weight:600;margin:0 0 .35rem;padding-left:.6rem}nav ul+h2{margin-top:1.5rem}
nav ul{margin:0;padding:0;list-style:none}
nav li a{display:block;padding:.25rem .6rem;border-radius:6px;color:var(--soft);text-decoration:none}nav li a:hover{background:var(--hover);color:var(--text)}
nav a[aria-current]{background:var(--wash);color:var(--accent);font-weight:600;box-shadow:inset 2px 0 0 var(--accent)}
.outline{display:none}.outline h2{color:var(--soft)}.outline a{font-size:.8125rem}
.contents{display:none}
.docs{min-width:0;padding:1.75rem 0 5rem 2.5rem;font-size:.9375rem;line-height:1.65}
.docs:focus{outline:none}
.docs h1{font-size:1.75rem;margin:0 0 1rem}.docs h2{font-size:1.1875rem;font-weight:600;line-height:1.35;letter-spacing:-.01em;margin:2.75rem 0 .75rem}.docs h3{font-size:1rem;font-weight:600;margin:2rem 0 .5rem}
.docs :is(p,li,h1,h2,h3){max-width:59ch}.docs :is(td,th) *,.docs ol.found>li{max-width:none}
.docs :is(ul,ol){padding-left:1.4rem}.docs li{margin:.3rem 0}.docs li p{margin:.4rem 0}
.docs [id]{scroll-margin-top:4.25rem}
.docs .crumb{margin:0 0 .35rem;font-size:.8125rem}
code{background:var(--sunken);border-radius:4px;padding:.1em .25em;overflow-wrap:anywhere}
a code{color:inherit}
pre{margin:1rem 0;padding:.85rem 1rem;background:var(--sunken);border:1px solid var(--line);border-radius:8px;overflow-x:auto;font-size:.8125rem;line-height:1.6}pre code{padding:0;background:none;font-size:1em;overflow-wrap:normal}
li,h1,h2,h3{overflow-wrap:anywhere}
section{border-top:1px solid var(--line);padding:2rem 0 .5rem;margin-top:2rem}
.docs section h2{margin-top:0}
.request{display:flex;flex-wrap:wrap;align-items:baseline;gap:.35rem .75rem}.request>code{padding:.3rem .55rem;border:1px solid var(--line);border-radius:6px;font-size:.8125rem}
.method{color:var(--accent);font-weight:600}.method.get{color:var(--good)}.method.put,.method.patch{color:var(--warning)}.method.delete{color:var(--bad)}
.wide{overflow-x:auto;margin:1rem 0 1.25rem;border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:.8125rem;line-height:1.55}
td:first-child code{overflow-wrap:normal}
th,td{text-align:left;vertical-align:top;padding:.5rem .85rem}td{border-top:1px solid var(--line)}th{background:var(--sunken);color:var(--soft);font-weight:500;white-space:nowrap}
details{margin:.5rem 0}summary{cursor:pointer;color:var(--soft)}summary:hover{color:var(--text)}
.docs ol.found{padding:0;list-style:none}.found>li{margin:0;padding:1rem 0;border-top:1px solid var(--line)}.found h2{margin:0 0 .25rem;font-size:1rem}.found ul{padding:0;list-style:none}.found p{margin:.1rem 0 .6rem;font-size:.875rem}
mark{background:var(--mark);color:var(--text);border-radius:3px}
body:not(:has(.end)) .wide{visibility:hidden}
.steps{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(13rem,100%),1fr));gap:.75rem}.docs .steps{padding:0;list-style:none}.docs .steps li{margin:0}.steps a{display:block;height:100%;padding:1rem;border:1px solid var(--line);border-radius:8px;background:var(--raised);color:inherit;text-decoration:none}.steps a:hover{background:var(--hover)}.steps strong{display:block;color:var(--accent)}
.pager{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.75rem;margin-top:3rem;padding-top:1.25rem;border-top:1px solid var(--line)}.pager a{text-decoration:none}.pager span{display:block;color:var(--soft);font-size:.8125rem}.pager .next{margin-left:auto;text-align:right}
@media(min-width:75rem){.columns.outlined{grid-template-columns:14.5rem minmax(0,1fr) 12.5rem}.outlined .docs{padding-right:2.5rem}.outlined .outline{display:block}}
@media(max-width:63.99rem){:root{--edge:1.5rem}.columns{display:block;padding:0}.side{display:none}.contents{display:block;margin:0;border-bottom:1px solid var(--line)}.contents summary{display:flex;gap:.5rem;align-items:center;min-height:44px;padding:0 var(--edge);overflow-wrap:anywhere}.contents summary::before{content:"";flex:none;width:.4rem;height:.4rem;border:solid currentcolor;border-width:0 1.5px 1.5px 0;rotate:-45deg}.contents[open] summary::before{rotate:45deg}.contents nav{padding:.5rem var(--edge) 1.5rem}.contents nav a{padding-block:.5rem}.docs{padding:1.5rem var(--edge) 4rem}}
@media(max-width:40rem){:root{--edge:1rem}.top{position:static}.top form{order:1;width:100%}.top .extra{display:none}.docs [id]{scroll-margin-top:1rem}.docs h1{font-size:1.5rem}.wide{margin-inline:0}th,td{padding:.45rem .6rem}}
`;
