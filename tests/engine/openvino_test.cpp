// The openvino engine computes what the torch engine does: every kind of layer, and the whole zoo.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <numeric>

#include "base/error.h"
#include "base/module.h"
#include "base/random.h"
#include "base/test_folder.h"
#include "engine/batches_helpers.h"
#include "engine/engine.h"
#include "engine/golden_helpers.h"
#include "network/init.h"
#include "network/passes/fold_batch_norm.h"
#include "network/zoo.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kBatch = 2;

bool built() {
  return module_status("torch").state != ModuleState::kNotBuilt &&
         module_status("openvino").state != ModuleState::kNotBuilt;
}

/// First values, but batch-norms as after a training: their statistics are no longer 0 and 1.
TensorMap trained_state(const network::Network& network) {
  TensorMap state = network::initial_state(network, 3);
  for (auto& [name, tensor] : state) {
    if (tensor.dtype != DType::kF32 || tensor.shape.size() != 1) continue;
    Random random(5, Purpose::kInit, hash_text(name));
    for (std::int64_t i = 0; i < tensor.shape.front(); ++i) {
      tensor.floats()[i] += static_cast<float>(0.2 * random.uniform());
    }
  }
  return state;
}

TensorMap run(const std::string& engine, const network::Network& network, const TensorMap& state,
              const std::vector<std::uint8_t>& images, engine::RunnerOptions options = {}) {
  options.batch = kBatch;
  if (network.input_shape().front() == 3) {
    options.mean = {0.485F, 0.456F, 0.406F};
    options.standard_deviation = {0.229F, 0.224F, 0.225F};
  }
  const auto runner = engine::open_engine(engine)->make_runner(network, state, options);
  runner->start(std::span(images));
  return runner->wait();
}

void expect_same(const network::Network& network, double within) {
  const auto& shape = network.input_shape();
  const auto batch = test::random_batch(kBatch, {shape[0], shape[1], shape[2]}, 4);
  const TensorMap state = trained_state(network);
  const TensorMap expected = run("torch", network, state, batch.images);
  EXPECT_LT(test::relative_distance(run("openvino", network, state, batch.images), expected), within);
  const auto folded = network::fold_batch_norm(network, state);
  EXPECT_LT(test::relative_distance(run("torch", folded.network, folded.state, batch.images), expected), within);
}

TEST(OpenVino, WindowsThatAreNoSquaresAndPoolingThatRoundsUp) {
  if (!built()) GTEST_SKIP() << "the engines are not built";
  expect_same(test::windows_network({3, 23, 18}, 4), 1e-5);
}

TEST(OpenVino, BranchesProductsAndConcatenation) {
  if (!built()) GTEST_SKIP() << "the engines are not built";
  expect_same(test::branches_network({3, 16, 20}, 4), 1e-5);
}

TEST(OpenVino, AScaleMultipliesAsInTorch) {
  if (!built()) GTEST_SKIP() << "the engines are not built";
  network::Network net("scaled", {3, 4, 5});
  const int scaled = net.add("scale", network::Scale{-0.17}, {0});
  net.add("sum", network::Add{}, {scaled, 0});
  net.add("flatten", network::Flatten{});
  std::vector<std::uint8_t> images(kBatch * 60);
  std::iota(images.begin(), images.end(), std::uint8_t{0});
  engine::RunnerOptions options;
  options.batch = kBatch;
  options.mean.assign(3, 0);
  options.standard_deviation.assign(3, 1.0F / 255);  // pixels as they are
  for (const char* engine : {"torch", "openvino"}) {
    const auto runner = engine::open_engine(engine)->make_runner(net, {}, options);
    runner->start(std::span<const std::uint8_t>(images));
    const TensorMap outputs = runner->wait();
    for (std::size_t i = 0; i < images.size(); ++i) {
      // A factor of float32 and one sum: two roundings.
      EXPECT_NEAR(outputs.begin()->second.floats()[i], 0.83 * static_cast<double>(i), 3e-5) << engine << " " << i;
    }
  }
}

class OpenVinoZoo : public testing::TestWithParam<const char*> {};

TEST_P(OpenVinoZoo, GivesWhatTorchGives) {
  if (!built()) GTEST_SKIP() << "the engines are not built";
  const bool perceptron = std::string(GetParam()).starts_with("mlp");
  const bool needs_more = std::string(GetParam()).starts_with("inception");
  const network::Shape input = perceptron ? network::Shape{1, 28, 28} : network::Shape{3, 96, needs_more ? 80 : 64};
  expect_same(network::build(GetParam(), {.input = input}), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Networks, OpenVinoZoo,
                         testing::Values("mlp:784-30-10:sigmoid", "resnet18", "resnet50", "mobilenet_v2",
                                         "mobilenet_v3_large", "efficientnet_b0", "resnet20", "inception_resnet_v1",
                                         "mobilefacenet", "mtcnn_pnet"));

TEST(OpenVino, SaysWhatItReallyComputes) {
  if (!built()) GTEST_SKIP() << "the engines are not built";
  const network::Network network = test::small_resnet({3, 14, 12}, 5);
  engine::RunnerOptions options;
  options.batch = 1;
  const auto executed =
      engine::open_engine("openvino")->make_runner(network, trained_state(network), options)->executed();
  int convolutions = 0;
  for (const auto& [what, count] : executed) {
    EXPECT_FALSE(what.ends_with("bf16")) << what;
    if (what.starts_with("Convolution")) convolutions += count;
  }
  EXPECT_GT(convolutions, 0);
}

TEST(OpenVino, AnswersEachCallByItsOwnValuesAndLeavesThemAsTheyAre) {
  if (!built()) GTEST_SKIP() << "the engines are not built";
  network::Network network("net", {6});
  network.add("relu", network::Activation{});  // which could be computed in the memory of its input
  network.add("fc", network::Linear{3, true});
  const TensorMap state = network::initial_state(network, 3);
  const std::vector<std::vector<float>> calls = {{-3, -2, -1, 1, 2, 3, 1, 0, -1, 0, 1, 0},
                                                 {3, 2, 1, -1, -2, -3, 0, -1, 0, 1, 0, -1}};
  engine::RunnerOptions options;
  options.batch = kBatch;
  options.values = engine::ImageValues::kFloats;
  const auto torch = engine::open_engine("torch")->make_runner(network, state, options);
  options.in_flight = 2;
  const auto openvino = engine::open_engine("openvino")->make_runner(network, state, options);
  for (int times = 0; times < 2; ++times) {
    const std::vector<std::vector<float>> values = calls;
    for (const auto& call : values) openvino->start(std::span(call));
    for (const auto& call : values) {
      torch->start(std::span(call));
      EXPECT_LT(test::relative_distance(openvino->wait(), torch->wait()), 1e-5);
    }
    EXPECT_EQ(values, calls);
  }
}

TEST(OpenVino, WhatIsNoModelIsAnError) {
  if (!built()) GTEST_SKIP() << "the engines are not built";
  const auto path = std::filesystem::temp_directory_path() / "evener-no-model.onnx";
  std::ofstream(path) << "this is text";
  EXPECT_THAT([&] { engine::open_engine("openvino")->open_model_file(path); },
              testing::ThrowsMessage<Error>(HasSubstr(path.string())));
  std::filesystem::remove(path);
}

class OpenVinoCache : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "the openvino engine is not built";
  }

  /// The answer to one image by the network with weights of this seed.
  TensorMap answer(std::uint64_t seed) const {
    engine::RunnerOptions options;
    options.cache = folder_.path();
    const auto runner =
        engine::open_engine("openvino")->make_runner(network_, network::initial_state(network_, seed), options);
    const std::vector<std::uint8_t> image(3 * 16 * 16, 100);
    runner->start(std::span(image));
    return runner->wait();
  }
  std::size_t blobs() const {
    std::size_t count = 0;
    for (const auto& file : fs::directory_iterator(folder_.path())) count += file.path().extension() == ".blob" ? 1 : 0;
    return count;
  }
  /// A file that seems to be a compiled network, last used so many seconds ago.
  void old_blob(const std::string& name, std::uintmax_t bytes, int seconds_ago) const {
    const fs::path path = folder_ / name;
    std::ofstream(path).put('x');
    fs::resize_file(path, bytes);  // takes no space
    const timespec then{time(nullptr) - seconds_ago, 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  test::TestFolder folder_;
  const network::Network network_ = network::build("resnet20", {network::Shape{3, 16, 16}, 10});
};

TEST_F(OpenVinoCache, TheSameNetworkIsCompiledOnce) {
  const TensorMap first = answer(1);
  EXPECT_EQ(blobs(), 1u);
  EXPECT_EQ(answer(1), first);
  EXPECT_EQ(blobs(), 1u) << "the second time it was read";
  EXPECT_NE(answer(2), first);
  EXPECT_EQ(blobs(), 2u) << "other weights are another network";
}

TEST_F(OpenVinoCache, WhatIsDamagedIsCompiledAnew) {
  const TensorMap first = answer(1);
  for (const auto& file : fs::directory_iterator(folder_.path())) fs::resize_file(file.path(), 1000);
  EXPECT_EQ(answer(1), first);
}

TEST_F(OpenVinoCache, WhatWasLongestNotUsedGoesWhereThereIsTooMuch) {
  constexpr std::uintmax_t kMegabyte = 1'000'000;
  old_blob("b.blob", 500 * kMegabyte, 300);
  old_blob("a.blob", 500 * kMegabyte, 200);
  old_blob("c.blob", 500 * kMegabyte, 100);
  std::ofstream(folder_ / "notes.txt") << "ours";
  answer(1);
  EXPECT_FALSE(fs::exists(folder_ / "b.blob"));
  EXPECT_TRUE(fs::exists(folder_ / "a.blob"));
  EXPECT_TRUE(fs::exists(folder_ / "c.blob"));
  EXPECT_TRUE(fs::exists(folder_ / "notes.txt"));
}

}  // namespace

}  // namespace evener
