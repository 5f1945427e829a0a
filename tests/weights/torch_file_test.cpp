// PyTorch's files against what PyTorch reads in them (tests/golden/make_torch_files.py), and damaged and hostile ones.
#include "weights/torch_file.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/paths.h"
#include "base/real_data.h"
#include "base/test_folder.h"
#include "weights/safetensors.h"
#include "weights/weights_file.h"

namespace evener::weights {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

const fs::path kFolder = test::source_folder() / "tests/golden/torch";

std::string content(const std::string& name) {
  return read_file(kFolder / name);
}

TensorMap expected(const std::string& name) {
  TensorMap tensors;
  for (auto& [key, tensor] : read_safetensors(kFolder / "expected.safetensors").tensors) {
    if (key.starts_with(name + ":")) tensors.emplace(key.substr(name.size() + 1), tensor);
  }
  return tensors;
}

std::string refusal(const std::string& bytes) {
  try {
    parse_torch_file(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

class TorchFile : public testing::TestWithParam<const char*> {};

TEST_P(TorchFile, HoldsWhatPyTorchReads) {
  const std::string name = GetParam();
  const TensorMap golden = expected(name);
  ASSERT_FALSE(golden.empty());
  EXPECT_EQ(parse_torch_file(content(name + "_zip.pt")).tensors, golden);
  EXPECT_EQ(parse_torch_file(content(name + "_legacy.pt")).tensors, golden);
}

INSTANTIATE_TEST_SUITE_P(Base, TorchFile, testing::Values("types", "views", "model", "checkpoint", "parameters"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TorchFile, OtherProtocolsAndPackedArchivesAreReadToo) {
  const TensorMap golden = expected("model");
  for (const char* name : {"protocol4_zip.pt", "protocol4_legacy.pt", "deflated_zip.pt"}) {
    EXPECT_EQ(parse_torch_file(content(name)).tensors, golden) << name;
  }
}

TEST(TorchFile, WhatCanNotBeReadIsNamed) {
  const SafetensorsFile complex = parse_torch_file(content("complex_zip.pt"));
  ASSERT_EQ(complex.passed_over.size(), 1U);
  EXPECT_EQ(complex.passed_over[0].name, "weights");
  EXPECT_EQ(complex.passed_over[0].type, "torch.ComplexFloatStorage");
  EXPECT_EQ(complex.passed_over[0].shape, std::vector<std::int64_t>{2});
  EXPECT_THAT(refusal(content("whole_model_zip.pt")),
              AllOf(HasSubstr("its 'model' is an object of"), HasSubstr("'torch.nn.modules.linear.Linear'"),
                    HasSubstr("torch.save(model.state_dict(), FILE)")));
}

TEST(TorchFile, CutShortFilesAreRefusedWhereverTheCutIs) {
  for (const char* name : {"views_zip.pt", "views_legacy.pt", "deflated_zip.pt"}) {
    const std::string whole = content(name);
    for (std::size_t size = 64; size < whole.size(); size += 7) {
      EXPECT_NE(refusal(whole.substr(0, size)), "it was read") << name << " " << size;
    }
  }
}

// Every byte of a file inverted, one after the other: read or refused, but never worse.
TEST(TorchFile, DamagedFilesAreReadOrRefused) {
  for (const char* name : {"views_zip.pt", "types_legacy.pt", "deflated_zip.pt"}) {
    std::string bytes = content(name);
    for (char& byte : bytes) {
      byte = static_cast<char>(~byte);
      refusal(bytes);
      byte = static_cast<char>(~byte);
    }
  }
}

// --- legacy files made by hand ---------------------------------------------------------------------------------------

std::string number(std::int64_t value) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &value, 8);
  return bytes;
}
std::string whole(std::int64_t value) {
  return "\x8a\x08"s + number(value);
}
std::string text(const std::string& value) {
  return "U"s + static_cast<char>(value.size()) + value;
}
std::string tuple(const std::vector<std::int64_t>& values) {
  std::string bytes = "(";
  for (const std::int64_t value : values) bytes += whole(value);
  return bytes + "t";
}

struct Tensor {
  std::int64_t count, offset;  // of the memory, and where the tensor begins
  std::vector<std::int64_t> shape, strides;
  std::string key = "0";
};

std::string tensor_pickle(const Tensor& t) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\nFloatStorage\n" + text(t.key) +
         text("cpu") + whole(t.count) + "NtQ" + whole(t.offset) + tuple(t.shape) + tuple(t.strides) + "\x89"s + "}tR";
}

// A file with the state dict `items` (names and pickles of values) and memory "0" of the `values`.
std::string legacy(const std::string& object, const std::vector<float>& values, std::int64_t said = -1) {
  const std::string start = "\x80\x02"s;
  std::string file = start + "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s;  // the magic number
  file += start + "M\xe9\x03."s;                                                    // 1001
  file += start + "}."s + start + object + "." + start + "]" + text("0") + "a.";
  file += number(said < 0 ? static_cast<std::int64_t>(values.size()) : said);
  return file + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string bytes = "}(";
  for (const auto& [name, value] : items) bytes += text(name) + value;
  return bytes + "u";
}

std::string refusal_of(const Tensor& t) {
  return refusal(legacy(dict({{"w", tensor_pickle(t)}}), {1, 2, 3, 4, 5, 6}));
}

TEST(TorchFile, TensorsMadeByHandAreRead) {
  const std::string file = legacy(dict({{"w", tensor_pickle({6, 0, {3, 2}, {1, 3}})}}), {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(parse_torch_file(file).tensors.at("w"), HostTensor::of_floats({3, 2}, {1, 4, 2, 5, 3, 6}));
}

TEST(TorchFile, TensorsOutsideOfTheirMemoryAreRefused) {
  const std::int64_t huge = std::int64_t{1} << 62;
  for (const Tensor& t : {Tensor{6, 1, {6}, {1}}, Tensor{6, 6, {1}, {1}}, Tensor{6, 0, {2, 4}, {3, 1}},
                          Tensor{6, 0, {2}, {huge}}, Tensor{6, huge, {2}, {huge}}, Tensor{6, huge, {4}, {huge}}}) {
    EXPECT_THAT(refusal_of(t), AllOf(HasSubstr("'w'"), HasSubstr("does not lie within")));
  }
  EXPECT_THAT(refusal_of({6, 0, {huge, huge}, {0, 0}}), HasSubstr("elements")) << "the product overflows";
  EXPECT_THAT(refusal_of({6, 0, {1'000'000'000}, {0}}), HasSubstr("too much")) << "a small file, a large tensor";
  EXPECT_THAT(refusal_of({6, -1, {2}, {1}}), HasSubstr("no whole number"));
  EXPECT_THAT(refusal_of({6, 0, {-2}, {1}}), HasSubstr("no whole number"));
  EXPECT_THAT(refusal_of({6, 5, {2}, {-1}}), HasSubstr("no whole number"));
  EXPECT_THAT(refusal_of({6, 0, {2, 3}, {1}}), HasSubstr("strides"));
}

TEST(TorchFile, MemoryOfAnotherSizeThanSaidIsRefused) {
  EXPECT_THAT(refusal_of({7, 0, {2}, {1}}), AllOf(HasSubstr("7 elements"), HasSubstr("has 6")));
  EXPECT_THAT(refusal_of({6, 0, {2}, {1}, "other"}), HasSubstr("'0'"));
  const std::string object = dict({{"w", tensor_pickle({6, 0, {2}, {1}})}});
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(refusal(legacy(object, values, 7)), HasSubstr("cut short"));
  EXPECT_THAT(refusal(legacy(object, values, std::int64_t{1} << 61)), HasSubstr("cut short"));
  EXPECT_THAT(refusal(legacy(object, values, std::int64_t{1} << 62)), HasSubstr("more than there can be"));
  EXPECT_THAT(refusal(legacy(object, values, 5)), HasSubstr("4 bytes follow"));
  EXPECT_THAT(refusal(legacy(object, values) + "x"), HasSubstr("1 bytes follow"));
}

// Many names for one memory: what a few kilobytes ask for stays in proportion.
TEST(TorchFile, SharedMemoryIsCopiedButNotWithoutEnd) {
  const std::vector<float> values(1 << 16, 1.0F);
  const auto file = [&](int names) {
    std::vector<std::pair<std::string, std::string>> items;
    for (int i = 0; i < names; ++i) {
      items.emplace_back("t" + std::to_string(i), tensor_pickle({1 << 16, 0, {1 << 16}, {1}}));
    }
    return legacy(dict(items), values);
  };
  EXPECT_EQ(parse_torch_file(file(3)).tensors.size(), 3u);
  EXPECT_THAT(refusal(file(1000)), HasSubstr("more than 4 times as large"));
}

TEST(TorchFile, OnlyStateDictsAreTaken) {
  const std::string good = tensor_pickle({6, 0, {2}, {1}});
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(refusal(legacy("cos\nsystem\n" + good + "\x85R"s, values)), HasSubstr("'os.system'"));
  EXPECT_THAT(refusal(legacy(dict({{"w", good}, {"w", good}}), values)), HasSubstr("'w' is there twice"));
  EXPECT_THAT(refusal(legacy("](" + good + "e", values)), HasSubstr("no state dict"));
  EXPECT_THAT(refusal(legacy(dict({{"epoch", whole(1)}, {"other", "](" + good + "e"}}), values)),
              AllOf(HasSubstr("none of its keys"), HasSubstr("'epoch', 'other'")));
  EXPECT_THAT(refusal(legacy(dict({{"g", dict({{"w", good}})}, {"d", dict({{"w", good}})}}), values)),
              AllOf(HasSubstr("which of its state dicts"), HasSubstr("'g', 'd'"), HasSubstr("checkpoint[\"KEY\"]")));
  EXPECT_THAT(refusal(legacy("}(" + whole(1) + good + "u", values)), HasSubstr("not a text"));
  EXPECT_THAT(refusal(legacy(dict({{"a", good}, {"w", "ctorch._utils\n_rebuild_tensor_v2\n)R"}}), values)),
              HasSubstr("unknown way"));
  const std::string module = "(" + text("module") + "NNNtQ";
  EXPECT_THAT(refusal(legacy(dict({{"w", module}}), values)), HasSubstr("state_dict()"));
}

// What training programs keep beside the weights: options, an optimiser's objects, NumPy's numbers.
TEST(TorchFile, ForeignObjectsBesideTheWeightsArePassedOver) {
  const std::string good = tensor_pickle({6, 0, {2}, {1}});
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::string namespace_ = "cargparse\nNamespace\n)\x81}" + text("lr") + "K\x01sb";
  const std::string scalar =
      "cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n" + text("f8") + "\x89\x88\x87R" + "C\x02xy\x86R";
  const std::string set = "c__builtin__\nset\n]" + text("a") + "a\x85R";
  const SafetensorsFile file = parse_torch_file(legacy(
      dict(
          {{"args", namespace_}, {"best", scalar}, {"classes", set}, {"model", dict({{"w", good}, {"lr", whole(1)}})}}),
      values));
  EXPECT_EQ(file.tensors, (TensorMap{{"w", HostTensor::of_floats({2}, {1, 2})}}));
  ASSERT_EQ(file.passed_over.size(), 1U);
  EXPECT_EQ(file.passed_over[0].name + " " + file.passed_over[0].type, "lr a number");
  EXPECT_THAT(file.foreign_names, testing::ElementsAre("argparse.Namespace", "numpy.core.multiarray.scalar",
                                                       "numpy.dtype", "__builtin__.set"));
  EXPECT_EQ(parse_torch_file(legacy(dict({{"epoch", whole(1)}, {"ema", dict({{"w", good}})}}), values)).tensors.size(),
            1U)
      << "the one dictionary with tensors, whatever its name";
}

// --- other kinds of files --------------------------------------------------------------------------------------------

std::string weights_refusal(const std::string& bytes) {
  const test::TestFolder folder;
  test::write_text(folder / "weights.bin", bytes);
  try {
    read_weights(folder / "weights.bin");
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("weights.bin"));
    return error.what();
  }
  return "it was read";
}

TEST(WeightsFile, OtherFilesAreRefusedByWhatTheySeemToBe) {
  EXPECT_THAT(weights_refusal(""), HasSubstr("empty"));
  EXPECT_THAT(weights_refusal("<!DOCTYPE html><html>404</html>"), HasSubstr("an HTML page"));
  EXPECT_THAT(weights_refusal("\x1c\0\0\0TFL3\0\0"s),
              HasSubstr("is a TensorFlow Lite model, whose weights are not read: give a .pth or a .safetensors file"));
  EXPECT_THAT(weights_refusal("\x89HDF\r\n\x1a\n"), HasSubstr("HDF5"));
  EXPECT_THAT(weights_refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0"), HasSubstr("git lfs pull"));
  EXPECT_THAT(weights_refusal("\x08\x07\x12\x07pytorch"), HasSubstr("ONNX"));
  EXPECT_THAT(weights_refusal("\x80\x04K\x01."), HasSubstr("Python pickle"));
  EXPECT_THAT(weights_refusal("just some words\n"), HasSubstr("a text"));
  EXPECT_THAT(weights_refusal("\x01\x02\x03\x04"), HasSubstr("unknown kind"));
  EXPECT_THAT(weights_refusal("PK\x03\x04 and nothing more"), HasSubstr("cut short"));
}

TEST(WeightsFile, SafetensorsAreReadWithTheirMetadata) {
  const test::TestFolder folder;
  const TensorMap tensors = {{"module.w", HostTensor::of_floats({2}, {1, 2})}};
  write_safetensors(folder / "a.pt", tensors, {{"model", "net"}});  // chosen by content, not by name
  const SafetensorsFile file = read_weights(folder / "a.pt");
  EXPECT_EQ(file.tensors, tensors);
  EXPECT_EQ(file.metadata.at("model"), "net");
}

// --- real files ------------------------------------------------------------------------------------------------------

struct RealFile {
  const char* name;
  std::int64_t values;  // as LAYERS.txt beside it says
  const char* tensor;
  std::vector<std::int64_t> shape;
};

class RealTorchFile : public testing::TestWithParam<RealFile> {};

TEST_P(RealTorchFile, HasTheTensorsThatItsListSays) {
  if (const std::string why = test::without_real_data({GetParam().name}); !why.empty()) GTEST_SKIP() << why;
  const TensorMap tensors = read_weights(test::real_data(GetParam().name)).tensors;
  std::int64_t values = 0;
  for (const auto& [name, tensor] : tensors) values += element_count(tensor.shape);
  EXPECT_EQ(values, GetParam().values);
  ASSERT_TRUE(tensors.contains(GetParam().tensor));
  EXPECT_EQ(tensors.at(GetParam().tensor).shape, GetParam().shape);
}

INSTANTIATE_TEST_SUITE_P(
    Base, RealTorchFile,
    testing::Values(RealFile{"resnet_cifar10/resnet20-12fca82f.th", 271098, "module.layer3.2.bn2.running_var", {64}},
                    RealFile{"mtcnn/pnet.pt", 6632, "conv4_2.weight", {4, 32, 1, 1}},
                    RealFile{"mtcnn/rnet.pt", 100178, "dense4.weight", {128, 576}},
                    RealFile{"mtcnn/onet.pt", 389040, "dense6_3.bias", {10}},
                    RealFile{"mobilefacenet/068.ckpt", 1019186, "dw_conv1.conv.weight", {64, 1, 3, 3}}),
    [](const auto& info) {
      std::string name = fs::path(info.param.name).stem().string();
      std::erase_if(name, [](char c) { return c == '-'; });
      return name;
    });

}  // namespace
}  // namespace evener::weights
