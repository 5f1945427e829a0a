#include "weights/tflite_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/names.h"

namespace evener::weights {
namespace {

/// Numbers of the fields in the schema's tables.
namespace model {
constexpr int kOperatorCodes = 1, kGraphs = 2, kBuffers = 4;
}
namespace graph {
constexpr int kTensors = 0, kOperators = 3;
}
namespace tensor {
constexpr int kShape = 0, kType = 1, kBuffer = 2, kName = 3, kQuantization = 4;
}
namespace quantization {
constexpr int kScale = 2, kZeroPoint = 3, kDimension = 6;
}
namespace operation {
constexpr int kCode = 0, kInputs = 1, kOutputs = 2;
}
namespace operator_code {
constexpr int kOldNumber = 0, kNumber = 3;  // numbers above 126 don't fit into the old field
}
constexpr int kBufferData = 0;

constexpr std::int32_t kConvolution = 3, kDepthwiseConvolution = 4, kDequantize = 6;
enum Type : std::int8_t { kFloat32 = 0, kFloat16 = 1, kInt32 = 2, kUint8 = 3, kInt8 = 9 };

/// Reads little-endian numbers with bounds checks.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T get(std::uint64_t at) const {
    static_assert(std::endian::native == std::endian::little);
    T value;
    std::memcpy(&value, view(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view view(std::uint64_t at, std::uint64_t length) const {
    if (at <= bytes_.size() && length <= bytes_.size() - at) return bytes_.substr(at, length);
    throw Error("it is cut short or damaged: " + std::to_string(length) + " bytes should be at byte " +
                std::to_string(at) + " of " + std::to_string(bytes_.size()));
  }
  /// The position of the table or vector that the offset at `at` points to.
  std::uint64_t target(std::uint64_t at) const { return at + get<std::uint32_t>(at); }

 private:
  std::string_view bytes_;
};

/// A vector of a table; empty where the table doesn't have it.
struct Vector {
  std::uint64_t count = 0, first = 0;
};

/// A table, whose fields are found by their numbers. Fields with their default value are not stored.
class Table {
 public:
  Table(const Bytes& bytes, std::uint64_t at) : bytes_(bytes), at_(at) {
    fields_ = at - static_cast<std::uint64_t>(std::int64_t{bytes.get<std::int32_t>(at)});
    fields_bytes_ = bytes.get<std::uint16_t>(fields_);
  }

  template <class T>
  T value(int field, T usual) const {
    const auto at = place(field);
    return at ? bytes_.get<T>(*at) : usual;
  }
  template <class T>
  std::vector<T> values(int field) const {
    const Vector all = vector(field, sizeof(T));
    std::vector<T> values(all.count);
    if (all.count > 0)
      std::memcpy(values.data(), bytes_.view(all.first, all.count * sizeof(T)).data(), all.count * sizeof(T));
    return values;
  }
  std::string_view text(int field) const {
    const Vector all = vector(field, 1);
    return bytes_.view(all.first, all.count);
  }
  /// The number of elements in a field that is a vector of tables.
  std::uint64_t count(int field) const { return vector(field, sizeof(std::uint32_t)).count; }
  Table element(int field, std::uint64_t index, const char* what) const {
    const Vector all = vector(field, sizeof(std::uint32_t));
    if (index < all.count) return {bytes_, bytes_.target(all.first + index * sizeof(std::uint32_t))};
    throw Error(std::string("it is damaged: it has no ") + what + " " + std::to_string(index));
  }
  std::optional<Table> table(int field) const {
    const auto at = place(field);
    if (!at) return std::nullopt;
    return Table(bytes_, bytes_.target(*at));
  }

 private:
  std::optional<std::uint64_t> place(int field) const {
    const std::uint64_t entry = 4 + 2 * static_cast<std::uint64_t>(field);  // after the extents of both
    if (entry + 2 > fields_bytes_) return std::nullopt;
    const auto offset = bytes_.get<std::uint16_t>(fields_ + entry);
    if (offset == 0) return std::nullopt;
    return at_ + offset;
  }
  Vector vector(int field, std::uint64_t element_bytes) const {
    const auto at = place(field);
    if (!at) return {};
    const std::uint64_t begin = bytes_.target(*at);
    const Vector all{bytes_.get<std::uint32_t>(begin), begin + sizeof(std::uint32_t)};
    bytes_.view(all.first, all.count * element_bytes);
    return all;
  }

  Bytes bytes_;
  std::uint64_t at_, fields_ = 0, fields_bytes_ = 0;
};

/// scale * (value - zero point), the scales being one for all values or one for each place along a dimension.
struct Dequantization {
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  std::size_t dimension = 0;

  float value(double stored, std::size_t place) const {
    const std::size_t i = scales.size() == 1 ? 0 : place;
    const double zero = zero_points.empty() ? 0 : static_cast<double>(zero_points[zero_points.size() == 1 ? 0 : place]);
    return static_cast<float>(scales[i] * (stored - zero));
  }
};

template <class T>
void dequantize(std::string_view data, const Dequantization& rule, const std::vector<std::int64_t>& shape,
                std::vector<float>& values) {
  std::size_t inner = 1;  // consecutive values with the same index along the dimension
  for (std::size_t i = rule.dimension + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto places = static_cast<std::size_t>(shape[rule.dimension]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    T stored;
    std::memcpy(&stored, data.data() + i * sizeof stored, sizeof stored);
    values[i] = rule.value(static_cast<double>(stored), i / inner % places);
  }
}

class Model {
 public:
  explicit Model(std::string_view bytes)
      : bytes_(bytes),
        file_bytes_(bytes.size()),
        root_(bytes_, bytes_.target(0)),
        graph_(root_.element(model::kGraphs, 0, "graph")) {}

  std::vector<FoldedConvolution> convolutions() const {
    std::vector<FoldedConvolution> found;
    constexpr std::uint64_t kMostShared = 16;
    std::uint64_t weight_bytes = 0;
    const std::set<std::int32_t> widened = widened_tensors();
    for (std::uint64_t i = 0; i < graph_.count(graph::kOperators); ++i) {
      const Table operation = graph_.element(graph::kOperators, i, "operator");
      const std::int32_t code = code_of(operation);
      if (code != kConvolution && code != kDepthwiseConvolution) continue;
      const auto inputs = operation.values<std::int32_t>(operation::kInputs);
      if (inputs.size() < 2) throw Error("it is damaged: a convolution has no weights");
      // Operators whose weights aren't stored but computed are skipped; a missing bias is 0.
      const Table weights = tensor_at(inputs[1]);
      if (data_of(weights).empty()) {
        if (widened.contains(inputs[1])) {
          throw Error(
              "its weights become float32 only when it runs, as in float16 models; give that with float32 or int8");
        }
        continue;
      }
      // Layers may share weights, but in a damaged file very many may.
      weight_bytes += data_of(weights).size();
      if (weight_bytes > kMostShared * file_bytes_) {
        throw Error("it is damaged: its convolutions have far more weights than the file");
      }
      found.push_back(folded(weights, code == kDepthwiseConvolution, inputs.size() > 2 ? inputs[2] : -1));
    }
    return found;
  }

 private:
  /// The tensors that operators convert to float32 from stored values.
  std::set<std::int32_t> widened_tensors() const {
    std::set<std::int32_t> tensors;
    for (std::uint64_t i = 0; i < graph_.count(graph::kOperators); ++i) {
      const Table operation = graph_.element(graph::kOperators, i, "operator");
      if (code_of(operation) != kDequantize) continue;
      const auto outputs = operation.values<std::int32_t>(operation::kOutputs);
      if (!outputs.empty()) tensors.insert(outputs.front());
    }
    return tensors;
  }

  std::int32_t code_of(const Table& operation) const {
    const Table code = root_.element(model::kOperatorCodes, operation.value<std::uint32_t>(operation::kCode, 0),
                                     "code of an operator");
    return std::max<std::int32_t>(code.value<std::int8_t>(operator_code::kOldNumber, 0),
                                  code.value<std::int32_t>(operator_code::kNumber, 0));
  }
  Table tensor_at(std::int32_t index) const {
    return graph_.element(graph::kTensors, static_cast<std::uint64_t>(std::int64_t{index}), "tensor");
  }
  std::string_view data_of(const Table& tensor) const {
    return root_.element(model::kBuffers, tensor.value<std::uint32_t>(tensor::kBuffer, 0), "buffer").text(kBufferData);
  }

  HostTensor floats_of(const Table& tensor, std::size_t dimensions) const {
    const std::string name = printable(std::string(tensor.text(tensor::kName)));
    std::vector<std::int64_t> shape;
    const std::string_view data = data_of(tensor);
    std::uint64_t count = 1;
    for (const std::int32_t extent : tensor.values<std::int32_t>(tensor::kShape)) {
      if (extent < 1 || count > data.size()) throw Error("its tensor '" + name + "' has an impossible shape");
      shape.push_back(extent);
      count *= static_cast<std::uint64_t>(extent);
    }
    if (shape.size() != dimensions)
      throw Error("its tensor '" + name + "' is " + shape_text(shape) + ", not of a convolution");
    const auto type = tensor.value<std::int8_t>(tensor::kType, kFloat32);
    const std::uint64_t each = type == kUint8 || type == kInt8 ? 1 : type == kFloat16 ? 2 : 4;
    if (type != kFloat32 && type != kFloat16 && type != kInt32 && each != 1) {
      throw Error("its tensor '" + name + "' has values of type " + std::to_string(type) + ", which are no weights");
    }
    if (count > data.size() || data.size() != count * each) {
      throw Error("its tensor '" + name + "' has " + std::to_string(data.size()) + " bytes, not " +
                  std::to_string(count * each));
    }
    if (type == kFloat32 || type == kFloat16) {
      HostTensor stored{type == kFloat32 ? DType::kF32 : DType::kF16, shape, std::vector<std::byte>(data.size())};
      std::memcpy(stored.bytes.data(), data.data(), data.size());
      return stored.to_floats();
    }
    const Dequantization rule = dequantization_of(tensor, shape, name);
    std::vector<float> values(count);
    if (type == kInt32) dequantize<std::int32_t>(data, rule, shape, values);
    if (type == kUint8) dequantize<std::uint8_t>(data, rule, shape, values);
    if (type == kInt8) dequantize<std::int8_t>(data, rule, shape, values);
    return HostTensor::of_floats(shape, values);
  }

  static Dequantization dequantization_of(const Table& tensor, const std::vector<std::int64_t>& shape,
                                          const std::string& name) {
    Dequantization rule;
    if (const auto table = tensor.table(tensor::kQuantization)) {
      rule.scales = table->values<float>(quantization::kScale);
      rule.zero_points = table->values<std::int64_t>(quantization::kZeroPoint);
      rule.dimension = static_cast<std::size_t>(std::int64_t{table->value<std::int32_t>(quantization::kDimension, 0)});
    }
    const auto fits = [&](std::size_t count) {
      return count == 1 || (rule.dimension < shape.size() && static_cast<std::int64_t>(count) == shape[rule.dimension]);
    };
    if (!fits(rule.scales.size()) || !(rule.zero_points.empty() || fits(rule.zero_points.size()))) {
      throw Error("its tensor '" + name + "' has " + std::to_string(rule.scales.size()) + " scales, which don't fit " +
                  shape_text(shape));
    }
    if (rule.dimension >= shape.size()) rule.dimension = 0;
    return rule;
  }

  FoldedConvolution folded(const Table& weights, bool depthwise, std::int32_t bias) const {
    const HostTensor stored = floats_of(weights, 4);
    // (out, height, width, in), or (1, height, width, channels)
    const std::int64_t height = stored.shape[1], width = stored.shape[2];
    const std::int64_t out = stored.shape[depthwise ? 3 : 0], in = stored.shape[depthwise ? 0 : 3];
    std::vector<float> values(static_cast<std::size_t>(out * in * height * width));
    for (std::int64_t o = 0; o < out; ++o) {
      for (std::int64_t i = 0; i < in; ++i) {
        for (std::int64_t place = 0; place < height * width; ++place) {
          const std::int64_t from =
              depthwise ? (i * height * width + place) * out + o : (o * height * width + place) * in + i;
          values[static_cast<std::size_t>((o * in + i) * height * width + place)] = stored.floats()[from];
        }
      }
    }
    FoldedConvolution convolution;
    convolution.name = std::string(weights.text(tensor::kName));
    convolution.weight = HostTensor::of_floats({out, in, height, width}, values);
    convolution.bias = bias < 0 ? HostTensor::of_floats({out}, std::vector<float>(static_cast<std::size_t>(out)))
                                : floats_of(tensor_at(bias), 1);
    if (convolution.bias.shape.front() != out) {
      throw Error("its tensor '" + printable(convolution.name) + "' and its bias have not one number of channels");
    }
    return convolution;
  }

  Bytes bytes_;
  std::uint64_t file_bytes_;
  Table root_, graph_;
};

}  // namespace

bool is_tflite(std::string_view bytes) {
  return bytes.size() >= 8 && bytes.substr(4, 4) == "TFL3";
}

std::vector<FoldedConvolution> parse_tflite_convolutions(std::string_view bytes) {
  return Model(bytes).convolutions();
}

}  // namespace evener::weights
