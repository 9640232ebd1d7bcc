/**
 * Writes the few parts of the ONNX format that our models need, by hand: the format is Protocol Buffers
 * (onnx/onnx.proto, IR version 8), and a model is a list of nodes and constant tensors.
 */

export const elementTypes = { float: 1, int8: 3, int32: 6, int64: 7 } as const;
export type ElementType = keyof typeof elementTypes;

export interface TensorData {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** The elements, little-endian; or the file beside the model that holds them from its first byte. */
  readonly data: Uint8Array | { readonly file: string; readonly bytes: number };
}

/** A model's input or output; a string in `shape` names a size that varies. */
export interface PortDescription {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly (number | string)[];
}

export type AttributeValue = number | string | readonly number[];

export interface NodeDescription {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Numbers become integers; use a string for text and an array for integer lists. */
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
}

export interface GraphDescription {
  readonly name: string;
  readonly documentation: string;
  readonly constants: readonly TensorData[];
  readonly inputs: readonly PortDescription[];
  readonly outputs: readonly PortDescription[];
  readonly nodes: readonly NodeDescription[];
}

const irVersion = 8;
const operatorSetVersion = 17;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}

const integerField = (field: number, value: number): Buffer =>
  Buffer.concat([varint(field << 3), varint(value)]);

function bytesField(field: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
}

const textField = (field: number, text: string): Buffer => bytesField(field, Buffer.from(text, 'utf8'));

/** StringStringEntryProto. */
const entry = (key: string, value: string): Buffer => Buffer.concat([textField(1, key), textField(2, value)]);

/** TensorProto: dims 1, data_type 2, name 8, raw_data 9, external_data 13, data_location 14. */
function tensor(description: TensorData): Buffer {
  const parts = [
    ...description.shape.map((size) => integerField(1, size)),
    integerField(2, elementTypes[description.type]),
    textField(8, description.name),
  ];
  const { data } = description;
  if (data instanceof Uint8Array) parts.push(bytesField(9, data));
  else {
    parts.push(bytesField(13, entry('location', data.file)), bytesField(13, entry('offset', '0')));
    parts.push(bytesField(13, entry('length', String(data.bytes))), integerField(14, 1));
  }
  return Buffer.concat(parts);
}

/** ValueInfoProto: name 1, type 2 { tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1, dim_param 2 } } } }. */
function port(description: PortDescription): Buffer {
  const sizes = description.shape.map((size) =>
    bytesField(1, typeof size === 'number' ? integerField(1, size) : textField(2, size)),
  );
  const type = Buffer.concat([
    integerField(1, elementTypes[description.type]),
    bytesField(2, Buffer.concat(sizes)),
  ]);
  return Buffer.concat([textField(1, description.name), bytesField(2, bytesField(1, type))]);
}

/** AttributeProto: name 1, i 3, s 4, ints 8, type 20 (INT 2, STRING 3, INTS 7). */
function attribute(name: string, value: AttributeValue): Buffer {
  if (typeof value === 'number') {
    return Buffer.concat([textField(1, name), integerField(3, value), integerField(20, 2)]);
  }
  if (typeof value === 'string') {
    return Buffer.concat([textField(1, name), textField(4, value), integerField(20, 3)]);
  }
  return Buffer.concat([
    textField(1, name),
    ...value.map((item) => integerField(8, item)),
    integerField(20, 7),
  ]);
}

/** NodeProto: input 1, output 2, op_type 4, attribute 5. */
function node(description: NodeDescription): Buffer {
  return Buffer.concat([
    ...description.inputs.map((name) => textField(1, name)),
    ...description.outputs.map((name) => textField(2, name)),
    textField(4, description.operator),
    ...Object.entries(description.attributes ?? {}).map(([name, value]) =>
      bytesField(5, attribute(name, value)),
    ),
  ]);
}

/** The bytes of an ONNX file: ModelProto with ir_version 1, producer_name 2, graph 7, opset_import 8. */
export function encodeModel(graph: GraphDescription): Uint8Array {
  const body = Buffer.concat([
    ...graph.nodes.map((description) => bytesField(1, node(description))),
    textField(2, graph.name),
    ...graph.constants.map((description) => bytesField(5, tensor(description))),
    textField(10, graph.documentation),
    ...graph.inputs.map((description) => bytesField(11, port(description))),
    ...graph.outputs.map((description) => bytesField(12, port(description))),
  ]);
  return Buffer.concat([
    integerField(1, irVersion),
    textField(2, 'quarry'),
    bytesField(7, body),
    bytesField(8, integerField(2, operatorSetVersion)),
  ]);
}

/** The bytes of a typed array, for a tensor's data. */
export function bytesOf(values: Float32Array | Int8Array | Int32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
