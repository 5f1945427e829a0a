// State dicts within PyTorch's files: which of several is taken, what is told of the rest, where tensors may lie.
#include <gmock/gmock.h>

#include <cstring>

#include "base/error.h"
#include "weights/torch_file.h"

namespace evener::weights::torch_rules {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Shape = std::vector<std::int64_t>;

template <class T>
std::string le(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string whole(std::int64_t value) {
  return "\x8a\x08"s + le(value);
}
std::string text(const std::string& value) {
  return "X"s + le(static_cast<std::uint32_t>(value.size())) + value;
}
std::string tuple(const Shape& values) {
  std::string bytes = "(";
  for (const std::int64_t value : values) bytes += whole(value);
  return bytes + "t";
}

struct Piece {
  std::int64_t offset = 0;
  Shape shape = {2}, strides = {1};
  std::string storage = "FloatStorage";
  std::string view = "N";
  std::int64_t count = 6;
};

std::string call_of(const Piece& piece, const std::string& function = "_rebuild_tensor_v2") {
  return "ctorch._utils\n" + function + "\n((" + text("storage") + "ctorch\n" + piece.storage + "\n" + text("0") +
         text("cpu") + whole(piece.count) + piece.view + "tQ" + whole(piece.offset) + tuple(piece.shape) +
         tuple(piece.strides) + "\x89"s + "}tR";
}

std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string bytes = "}(";
  for (const auto& [name, value] : items) bytes += text(name) + value;
  return bytes + "u";
}

/// A file of PyTorch before 1.6 with one memory, "0", of six elements.
std::string file_of(const std::string& object, std::string data = "", const std::string& system = "}") {
  const std::string start = "\x80\x02"s;
  if (data.empty()) {
    for (int i = 1; i <= 6; ++i) data += le(static_cast<float>(i));
  }
  return start + "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s + start + "M\xe9\x03."s + start + system + "." +
         start + object + "." + start + "]" + text("0") + "a." + le(std::int64_t{6}) + data;
}

TensorMap tensors_of(const std::string& object) {
  return parse_torch_file(file_of(object)).tensors;
}

std::string refusal(const std::string& bytes) {
  try {
    parse_torch_file(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

std::string at(std::int64_t offset) {
  return call_of({.offset = offset});
}

HostTensor floats(const Shape& shape, const std::vector<float>& values) {
  return HostTensor::of_floats(shape, values);
}

TEST(StateDicts, OfSeveralTheSurestKeyIsTaken) {
  const std::vector<std::string> keys = {"state_dict", "model_state_dict", "net_state_dict", "model",
                                         "net",        "weights",          "params"};
  for (std::size_t first = 0; first < keys.size(); ++first) {
    std::vector<std::pair<std::string, std::string>> items = {{"optimizer", dict({{"w", at(4)}})}};
    for (std::size_t i = keys.size(); i-- > first;) items.emplace_back(keys[i], dict({{"w", at(i == first ? 3 : 1)}}));
    EXPECT_EQ(tensors_of(dict(items)).at("w"), floats({2}, {4, 5})) << keys[first];
  }
  EXPECT_EQ(tensors_of(dict({{"best", at(0)}, {"model", dict({{"w", at(3)}})}})).at("w"), floats({2}, {4, 5}))
      << "before the object's own tensors";
  EXPECT_EQ(tensors_of(dict({{"state_dict", dict({{"lr", whole(1)}})}, {"model", dict({{"w", at(3)}})}})).size(), 1U)
      << "a key without tensors is none";
  EXPECT_EQ(tensors_of(dict({{"w", at(2)}, {"ema", dict({{"w", at(4)}})}})).at("w"), floats({2}, {3, 4}))
      << "the object itself before what lies under other keys";
}

TEST(StateDicts, TheSameOneUnderTwoKeysIsOne) {
  const std::string object = "}(" + text("a") + dict({{"w", at(3)}}) + "q\x07" + text("b") + "h\x07u";
  EXPECT_EQ(tensors_of(object).at("w"), floats({2}, {4, 5}));
}

TEST(StateDicts, KeysAreToldUpToTen) {
  const auto told = [](int keys) {
    std::vector<std::pair<std::string, std::string>> items;
    for (int i = 0; i < keys; ++i)
      items.emplace_back("key" + std::to_string(i), i == 0 ? "](" + at(0) + "e" : whole(i));
    return refusal(file_of(dict(items)));
  };
  EXPECT_THAT(told(10), HasSubstr("none of its keys 'key0', 'key1', 'key2', 'key3', 'key4', 'key5', 'key6', 'key7', "
                                  "'key8', 'key9' leads to tensors"));
  EXPECT_THAT(told(11), Not(HasSubstr("key10")));
}

TEST(StateDicts, WholeModelsAreToldAndNotLookedInto) {
  const std::string model = "cmine\nNet\n)\x81}" + text("weight") + at(0) + "sb";
  EXPECT_THAT(refusal(file_of(model)), HasSubstr("it holds an object of 'mine.Net', a whole model"));
  EXPECT_THAT(refusal(file_of(dict({{"epoch", whole(1)}, {"net", model}}))),
              HasSubstr("its 'net' is an object of 'mine.Net'"));
  EXPECT_THAT(refusal(file_of(dict({{"other", model}}))), HasSubstr("none of its keys 'other'"));
  EXPECT_EQ(tensors_of(dict({{"model", model}, {"ema", dict({{"w", at(1)}})}})).at("w"), floats({2}, {2, 3}))
      << "the one with tensors is taken all the same";
}

TEST(StateDicts, WhatIsNoTensorIsToldByItsKind) {
  const std::vector<std::pair<std::string, std::string>> items = {
      {"w", at(0)},   {"a", text("name")}, {"b", "]"},
      {"c", ")"},     {"d", "}"},          {"e", "G\x3f\xf0\0\0\0\0\0\0"s},
      {"f", "\x88"s}, {"g", "cmine\nf\n"}, {"h", "ctorch\nSize\n(K\x01t\x85R"s}};
  std::vector<std::string> told;
  for (const PassedOver& one : parse_torch_file(file_of(dict(items))).passed_over) {
    told.push_back(one.name + " " + one.type);
  }
  EXPECT_THAT(told, testing::ElementsAre("a a text", "b a container", "c a container", "d a container", "e a number",
                                         "f a number", "g mine.f", "h torch.Size"));
}

TEST(StateDicts, ParametersAndOlderTensorsAreTensors) {
  const std::string parameter = "ctorch._utils\n_rebuild_parameter\n(" + at(4) + "\x88"s + "}tR";
  const TensorMap tensors = tensors_of(dict({{"p", parameter}, {"o", call_of({.offset = 2}, "_rebuild_tensor")}}));
  EXPECT_EQ(tensors.at("p"), floats({2}, {5, 6}));
  EXPECT_EQ(tensors.at("o"), floats({2}, {3, 4}));
  const std::string empty = "ctorch._utils\n_rebuild_parameter\n)R";
  const SafetensorsFile file = parse_torch_file(file_of(dict({{"w", at(0)}, {"p", empty}})));
  ASSERT_EQ(file.passed_over.size(), 1U);
  EXPECT_EQ(file.passed_over[0].type, "torch._utils._rebuild_parameter");
}

TEST(TensorPlaces, AreFollowedByOffsetExtentsAndStrides) {
  const auto read = [](const Piece& piece) {
    const std::string bytes = file_of(dict({{"w", call_of(piece)}}));
    const std::string why = refusal(bytes);
    return why == "it was read" ? parse_torch_file(bytes).tensors.at("w") : floats({0}, {});
  };
  EXPECT_EQ(read({1, {2, 2}, {2, 1}}), floats({2, 2}, {2, 3, 4, 5}));
  EXPECT_EQ(read({1, {2, 2}, {3, 1}}), floats({2, 2}, {2, 3, 5, 6}));
  EXPECT_EQ(read({0, {2, 1, 3}, {3, 77, 1}}), floats({2, 1, 3}, {1, 2, 3, 4, 5, 6}))
      << "an extent of 1 needs no stride";
  EXPECT_EQ(read({0, {2, 3, 1}, {1, 2, 9}}), floats({2, 3, 1}, {1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(read({0, {2, 2, 2}, {2, 2, 1}}), floats({2, 2, 2}, {1, 2, 3, 4, 3, 4, 5, 6})) << "they overlap";
  EXPECT_EQ(read({4, {3}, {0}}), floats({3}, {5, 5, 5}));
  EXPECT_EQ(read({5, {}, {}}), floats({}, {6}));
  EXPECT_EQ(read({99, {2, 0}, {1, 1}}), floats({2, 0}, {})) << "nothing lies nowhere";
  EXPECT_EQ(read({4, {2}, {1}}), floats({2}, {5, 6}));
  EXPECT_THAT(refusal(file_of(dict({{"w", call_of({5, {2}, {1}})}}))),
              HasSubstr("'w' of shape 2 does not lie within the 6"));
  EXPECT_THAT(refusal(file_of(dict({{"w", call_of({6, {}, {}})}}))), HasSubstr("does not lie within"));
}

TEST(TensorPlaces, ViewsBeginWhereTheySay) {
  const auto view = [](std::int64_t offset, std::int64_t count) {
    return "(" + text("v") + whole(offset) + whole(count) + "t";
  };
  const auto bytes = [&](const std::string& part, std::int64_t offset = 0) {
    return file_of(dict({{"w", call_of({.offset = offset, .view = part})}}));
  };
  EXPECT_EQ(parse_torch_file(bytes(view(3, 3))).tensors.at("w"), floats({2}, {4, 5}));
  EXPECT_EQ(parse_torch_file(bytes(view(3, 3), 1)).tensors.at("w"), floats({2}, {5, 6}));
  EXPECT_THAT(refusal(bytes(view(3, 1))), HasSubstr("the 1 elements of its memory"));
  EXPECT_THAT(refusal(bytes(view(3, 4))), HasSubstr("outside of its memory"));
  EXPECT_THAT(refusal(bytes(view(7, 0))), HasSubstr("outside of its memory"));
  EXPECT_THAT(refusal(bytes(view(-1, 1))), HasSubstr("in an unknown way"));
  EXPECT_THAT(refusal(bytes("K\x03")), HasSubstr("in an unknown way"));
}

TEST(TensorTypes, AreThoseOfTheirMemory) {
  const auto read = [](const std::string& storage, const std::string& data) {
    return parse_torch_file(file_of(dict({{"w", call_of({.offset = 1, .storage = storage})}}), data));
  };
  EXPECT_EQ(read("BoolStorage", "\0\2\0\1\1\1"s).tensors.at("w"),
            (HostTensor{DType::kU8, {2}, {std::byte{1}, std::byte{0}}}));
  EXPECT_EQ(read("ByteStorage", "\0\2\0\1\1\1"s).tensors.at("w"),
            (HostTensor{DType::kU8, {2}, {std::byte{2}, std::byte{0}}}));
  EXPECT_EQ(read("CharStorage", "\0\xfe\7\1\1\1"s).tensors.at("w").dtype, DType::kI8);
  EXPECT_EQ(read("BFloat16Storage", std::string(12, 'a')).tensors.at("w").dtype, DType::kBF16);
  const SafetensorsFile other = read("ShortStorage", std::string(12, 'a'));
  ASSERT_EQ(other.passed_over.size(), 1U);
  EXPECT_EQ(other.passed_over[0].type, "torch.ShortStorage");
  EXPECT_EQ(other.passed_over[0].shape, Shape{2});
}

TEST(LegacyFiles, SayTheirByteOrder) {
  const std::string object = dict({{"w", at(0)}});
  EXPECT_EQ(refusal(file_of(object, "", "}" + text("little_endian") + "\x88s"s)), "it was read");
  EXPECT_THAT(refusal(file_of(object, "", "}" + text("little_endian") + "\x89s"s)), HasSubstr("big-endian"));
  EXPECT_EQ(refusal(file_of(object, "", "}" + text("other") + "\x89s"s)), "it was read");
}

}  // namespace
}  // namespace evener::weights::torch_rules
