/**
 * Writes the parts of the ONNX format that the built-in models need, without a library: the format is
 * Protocol Buffers (onnx/onnx.proto, IR version 8), and a model is a list of nodes and constant tensors.
 */

export const elementTypes = { float: 1, int8: 3, int32: 6, int64: 7 } as const;
export type ElementType = keyof typeof elementTypes;

export interface TensorData {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** Elements, little-endian; or the file next to the model that contains them from its first byte. */
  readonly data: Uint8Array | { readonly file: string; readonly bytes: number };
}

/** Input or output of a model; a string in `shape` names a dynamic dimension. */
export interface ValueInfoDescription {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly (number | string)[];
}

export type AttributeValue = number | string | readonly number[];

export interface NodeDescription {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Attribute values: a number is encoded as an integer, a string as text, an array as an integer list. */
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
}

export interface GraphDescription {
  readonly name: string;
  readonly documentation: string;
  readonly constants: readonly TensorData[];
  readonly inputs: readonly ValueInfoDescription[];
  readonly outputs: readonly ValueInfoDescription[];
  readonly nodes: readonly NodeDescription[];
}

const irVersion = 8;
const operatorSetVersion = 17;

function encodeVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 0x80 : low);
  } while (rest > 0n);
  return Buffer.from(bytes);
}

const encodeIntegerField = (field: number, value: number): Buffer =>
  Buffer.concat([encodeVarint(field << 3), encodeVarint(value)]);

function encodeBytesField(field: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([encodeVarint((field << 3) | 2), encodeVarint(bytes.length), bytes]);
}

const encodeTextField = (field: number, text: string): Buffer =>
  encodeBytesField(field, Buffer.from(text, 'utf8'));

/** StringStringEntryProto. */
const encodeEntry = (key: string, value: string): Buffer =>
  Buffer.concat([encodeTextField(1, key), encodeTextField(2, value)]);

/** TensorProto: dims 1, data_type 2, name 8, raw_data 9, external_data 13, data_location 14. */
function encodeTensor(description: TensorData): Buffer {
  const parts = [
    ...description.shape.map((size) => encodeIntegerField(1, size)),
    encodeIntegerField(2, elementTypes[description.type]),
    encodeTextField(8, description.name),
  ];
  const { data } = description;
  if (data instanceof Uint8Array) parts.push(encodeBytesField(9, data));
  else {
    parts.push(
      encodeBytesField(13, encodeEntry('location', data.file)),
      encodeBytesField(13, encodeEntry('offset', '0')),
    );
    parts.push(encodeBytesField(13, encodeEntry('length', String(data.bytes))), encodeIntegerField(14, 1));
  }
  return Buffer.concat(parts);
}

/**
 * ValueInfoProto: name 1, type 2 {
 * tensor_type 1 { elem_type 1, shape 2 { dim 1 { dim_value 1, dim_param 2 } } } }.
 */
function encodeValueInfo(description: ValueInfoDescription): Buffer {
  const sizes = description.shape.map((size) =>
    encodeBytesField(1, typeof size === 'number' ? encodeIntegerField(1, size) : encodeTextField(2, size)),
  );
  const type = Buffer.concat([
    encodeIntegerField(1, elementTypes[description.type]),
    encodeBytesField(2, Buffer.concat(sizes)),
  ]);
  return Buffer.concat([
    encodeTextField(1, description.name),
    encodeBytesField(2, encodeBytesField(1, type)),
  ]);
}

/** AttributeProto: name 1, i 3, s 4, ints 8, type 20 (INT 2, STRING 3, INTS 7). */
function encodeAttribute(name: string, value: AttributeValue): Buffer {
  if (typeof value === 'number') {
    return Buffer.concat([encodeTextField(1, name), encodeIntegerField(3, value), encodeIntegerField(20, 2)]);
  }
  if (typeof value === 'string') {
    return Buffer.concat([encodeTextField(1, name), encodeTextField(4, value), encodeIntegerField(20, 3)]);
  }
  return Buffer.concat([
    encodeTextField(1, name),
    ...value.map((item) => encodeIntegerField(8, item)),
    encodeIntegerField(20, 7),
  ]);
}

/** NodeProto: input 1, output 2, op_type 4, attribute 5. */
function encodeNode(description: NodeDescription): Buffer {
  return Buffer.concat([
    ...description.inputs.map((name) => encodeTextField(1, name)),
    ...description.outputs.map((name) => encodeTextField(2, name)),
    encodeTextField(4, description.operator),
    ...Object.entries(description.attributes ?? {}).map(([name, value]) =>
      encodeBytesField(5, encodeAttribute(name, value)),
    ),
  ]);
}

/** Returns the bytes of an ONNX file: ModelProto with ir_version 1, producer_name 2, graph 7, opset_import 8. */
export function encodeModel(graph: GraphDescription): Uint8Array {
  const body = Buffer.concat([
    ...graph.nodes.map((description) => encodeBytesField(1, encodeNode(description))),
    encodeTextField(2, graph.name),
    ...graph.constants.map((description) => encodeBytesField(5, encodeTensor(description))),
    encodeTextField(10, graph.documentation),
    ...graph.inputs.map((description) => encodeBytesField(11, encodeValueInfo(description))),
    ...graph.outputs.map((description) => encodeBytesField(12, encodeValueInfo(description))),
  ]);
  return Buffer.concat([
    encodeIntegerField(1, irVersion),
    encodeTextField(2, 'quarry'),
    encodeBytesField(7, body),
    encodeBytesField(8, encodeIntegerField(2, operatorSetVersion)),
  ]);
}

/** Returns the bytes of a typed array, for the data of a tensor. */
export function toBytes(values: Float32Array | Int8Array | Int32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
