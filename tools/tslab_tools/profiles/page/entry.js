// What d3-flame-graph.js is made of. To make it again:
//
//     npm install d3-flame-graph@5.0.0 esbuild@0.28.2
//     npx esbuild entry.js --bundle --format=iife --global-name=d3 --charset=utf8 --outfile=d3-flame-graph.js
export { select } from "d3-selection";
export { default as flamegraph } from "d3-flame-graph";
