const defaultGraphs = ['model.onnx', 'onnx/model.onnx'] as const;

/** Returns the requested graph, else the default one, else the only one; undefined if it is not one of `graphs`. */
export function chooseGraph(graphs: readonly string[], requested: string | null): string | undefined {
  const graph =
    requested ??
    defaultGraphs.find((name) => graphs.includes(name)) ??
    (graphs.length === 1 ? graphs[0] : undefined);
  return graph !== undefined && graphs.includes(graph) ? graph : undefined;
}
