// TensorFlow Lite models: a small one made by hand, and damaged ones.
#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "weights/tflite_file.h"

namespace evener::weights {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::string le(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
template <class T>
std::string le_all(const std::vector<T>& values) {
  std::string bytes;
  for (const T value : values) bytes += le(value);
  return bytes;
}

/// Writes FlatBuffers from the root on: what is referred to lies behind what refers to it.
class Builder {
 public:
  Builder() : bytes_(le<std::uint32_t>(0) + "TFL3") {}

  /// A table; an empty field is 4 bytes for a reference. Returns where its fields lie.
  std::map<int, std::size_t> table(const std::map<int, std::string>& fields) {
    const int count = fields.empty() ? 0 : fields.rbegin()->first + 1;
    const std::size_t vtable = bytes_.size();
    std::string places(static_cast<std::size_t>(count) * 2, '\0'),
        content = le(static_cast<std::int32_t>(4 + count * 2));
    std::map<int, std::size_t> at;
    const std::size_t table = vtable + 4 + places.size();
    for (const auto& [field, value] : fields) {
      const std::string place = le(static_cast<std::uint16_t>(content.size()));
      std::memcpy(places.data() + field * 2, place.data(), 2);
      at[field] = table + content.size();
      content += value.empty() ? le<std::uint32_t>(0) : value;
    }
    at[-1] = table;
    bytes_ += le(static_cast<std::uint16_t>(4 + places.size())) + le(static_cast<std::uint16_t>(content.size()));
    bytes_ += places + content;
    return at;
  }
  /// A vector of so many elements. Returns where the first of them lies.
  std::size_t vector(std::size_t count, const std::string& data) {
    bytes_ += le(static_cast<std::uint32_t>(count)) + data;
    return bytes_.size() - data.size();
  }
  void refer(std::size_t from, std::size_t to) {
    const std::string offset = le(static_cast<std::uint32_t>(to - from));
    bytes_.replace(from, 4, offset);
  }
  /// References to that many tables, which `make` builds one by one.
  template <class Make>
  void refer_to_tables(std::size_t from, std::size_t count, Make make) {
    const std::size_t first = vector(count, std::string(count * 4, '\0'));
    refer(from, first - 4);
    for (std::size_t i = 0; i < count; ++i) refer(first + i * 4, make(i));
  }
  void refer_to_vector(std::size_t from, std::size_t count, const std::string& data) {
    refer(from, vector(count, data) - 4);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct Tensor {
  std::string name;
  std::vector<std::int32_t> shape;
  std::int8_t type = 0;
  std::string data;  // empty: it is computed
  std::vector<float> scales = {};
  std::vector<std::int64_t> zero_points = {};
  std::int32_t dimension = 0;
};
struct Operator {
  std::int8_t code;
  std::vector<std::int32_t> inputs;
};

std::string model_of(const std::vector<Tensor>& tensors, const std::vector<Operator>& operators) {
  Builder file;
  auto root = file.table({{1, ""}, {2, ""}, {4, ""}});
  file.refer(0, root[-1]);
  file.refer_to_tables(root[1], operators.size(), [&](std::size_t i) {
    return file.table({{0, le(operators[i].code)}, {3, le(std::int32_t{operators[i].code})}})[-1];
  });
  file.refer_to_tables(root[4], tensors.size() + 1, [&](std::size_t i) {
    if (i == 0 || tensors[i - 1].data.empty()) return file.table({})[-1];
    auto buffer = file.table({{0, ""}});
    file.refer_to_vector(buffer[0], tensors[i - 1].data.size(), tensors[i - 1].data);
    return buffer[-1];
  });
  file.refer_to_tables(root[2], 1, [&](std::size_t) {
    auto graph = file.table({{0, ""}, {3, ""}});
    file.refer_to_tables(graph[0], tensors.size(), [&](std::size_t i) {
      const Tensor& from = tensors[i];
      auto tensor =
          file.table({{0, ""}, {1, le(from.type)}, {2, le(static_cast<std::uint32_t>(i + 1))}, {3, ""}, {4, ""}});
      file.refer_to_vector(tensor[0], from.shape.size(), le_all(from.shape));
      file.refer_to_vector(tensor[3], from.name.size(), from.name);
      auto rule = file.table({{2, ""}, {3, ""}, {6, le(from.dimension)}});
      file.refer(tensor[4], rule[-1]);
      file.refer_to_vector(rule[2], from.scales.size(), le_all(from.scales));
      file.refer_to_vector(rule[3], from.zero_points.size(), le_all(from.zero_points));
      return tensor[-1];
    });
    file.refer_to_tables(graph[3], operators.size(), [&](std::size_t i) {
      auto operation = file.table({{0, le(static_cast<std::uint32_t>(i))}, {1, ""}});
      file.refer_to_vector(operation[1], operators[i].inputs.size(), le_all(operators[i].inputs));
      return operation[-1];
    });
    return graph[-1];
  });
  return file.bytes();
}

constexpr std::int8_t kConvolution = 3, kDepthwise = 4, kAdd = 0;

/// A convolution of two channels to one in bytes, a depthwise one of two channels with a scale for each, a float one
/// without a bias, and one whose weights are computed.
std::string small_model() {
  return model_of({{"input", {1, 4, 4, 2}, 3, ""},
                   {"full", {1, 1, 2, 2}, 3, "\x01\x02\x03\x04", {0.5F}, {1}},
                   {"full.bias", {1}, 2, le<std::int32_t>(-6), {0.25F}, {0}},
                   {"depthwise", {1, 2, 1, 2}, 9, "\x01\x02\xFD\x04", {1, 10}, {0, 0}, 3},
                   {"depthwise.bias", {2}, 2, le<std::int32_t>(3) + le<std::int32_t>(4), {1, 10}, {}, 0},
                   {"floats", {2, 1, 1, 1}, 0, le(1.5F) + le(-2.0F)}},
                  {{kConvolution, {0, 1, 2}},
                   {kAdd, {0, 0}},
                   {kDepthwise, {0, 3, 4}},
                   {kConvolution, {0, 5, -1}},
                   {kConvolution, {0, 0, 2}}});
}

std::vector<float> values_of(const HostTensor& tensor) {
  return {tensor.floats(), tensor.floats() + element_count(tensor.shape)};
}

TEST(TfliteFile, ConvolutionsAreDequantisedAndTurned) {
  const auto found = parse_tflite_convolutions(small_model());
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, "full");
  EXPECT_THAT(found[0].weight.shape, ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(values_of(found[0].weight), ElementsAre(0, 1, 0.5F, 1.5F)) << "a row of each channel";
  EXPECT_THAT(values_of(found[0].bias), ElementsAre(-1.5F));
  EXPECT_THAT(found[1].weight.shape, ElementsAre(2, 1, 2, 1));
  EXPECT_THAT(values_of(found[1].weight), ElementsAre(1, -3, 20, 40)) << "a scale for each channel";
  EXPECT_THAT(values_of(found[1].bias), ElementsAre(3, 40));
  EXPECT_THAT(values_of(found[2].weight), ElementsAre(1.5F, -2));
  EXPECT_THAT(values_of(found[2].bias), ElementsAre(0, 0));
}

TEST(TfliteFile, DamageIsAnError) {
  const std::string whole = small_model();
  EXPECT_TRUE(is_tflite(whole));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(parse_tflite_convolutions(whole.substr(0, length)), Error) << length;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {  // read or refused, whatever a byte says
    for (const char byte : {'\0', '\x01', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = byte;
      try {
        parse_tflite_convolutions(damaged);
      } catch (const Error&) {
      }
    }
  }
}

TEST(TfliteFile, SaysWhatIsWrong) {
  const auto failure = [](const Tensor& tensor) {
    try {
      parse_tflite_convolutions(model_of({{"input", {1, 4, 4, 1}, 3, ""}, tensor}, {{kConvolution, {0, 1}}}));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_THAT(failure({"w", {1, 1, 1, 2}, 3, "\x01", {1}, {}}), HasSubstr("'w' has 1 bytes, not 2"));
  EXPECT_THAT(failure({"w", {1, 2}, 3, "\x01\x01", {1}, {}}), HasSubstr("'w' is 1x2, not of a convolution"));
  EXPECT_THAT(failure({"w", {1, 1, 1, 2}, 3, "\x01\x01", {1, 2, 3}, {}}), HasSubstr("3 scales, which don't fit"));
  EXPECT_THAT(failure({"w", {1, 1, 1, 2}, 4, "\x01\x01", {1}, {}}), HasSubstr("values of type 4"));
}

}  // namespace
}  // namespace evener::weights
