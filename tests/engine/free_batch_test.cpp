// Files that are fixed to one image, run with several at once.
#include <gmock/gmock.h>

#include <numeric>

#include "base/error.h"
#include "base/module.h"
#include "base/test_folder.h"
#include "engine/engine.h"
#include "engine/graph_file.h"

namespace evener {
namespace {

using testing::HasSubstr;

class FreeBatch : public testing::Test {
 protected:
  void SetUp() override {
    if (module_status("openvino").state == ModuleState::kNotBuilt) GTEST_SKIP() << "openvino is not built";
    engine_ = engine::open_engine("openvino");
  }

  static int integers(test::GraphFile& graph, const std::vector<float>& values) {
    return graph.converted("i64", graph.constant(values, std::to_string(values.size())));
  }

  /// The places of an image (2, 2, 3), each with its two values: as a list by way of (2, 3, 1, 2).
  static int places(test::GraphFile& graph, const std::vector<float>& list = {1, -1, 2}) {
    const int moved =
        graph.node("Transpose", "opset1", "", {graph.input("f32", "1,2,2,3"), integers(graph, {2, 3, 0, 1})});
    return graph.node("Reshape", "opset1", "special_zero=\"false\"", {moved, integers(graph, list)}, "places");
  }

  /// What the file gives for images of counted values.
  std::vector<float> outputs(std::int64_t batch, float first) const {
    engine::RunnerOptions options;
    options.batch = batch;
    options.values = engine::ImageValues::kFloats;
    engine::ModelInput input{.shape = {2, 2, 3}};
    input.is_image = false;
    const auto runner = std::move(engine_->open_model_file(path_)->make_runners(input, options, 1).front());
    std::vector<float> values(static_cast<std::size_t>(batch) * 12);
    std::iota(values.begin(), values.end(), first);
    runner->start(std::span<const float>(values));
    const TensorMap found = runner->wait();
    const HostTensor& output = found.begin()->second;
    EXPECT_EQ(output.shape.front(), batch);
    return {output.floats(), output.floats() + element_count(output.shape)};
  }

  test::TestFolder folder_;
  const std::filesystem::path path_ = folder_ / "model.xml";
  std::unique_ptr<engine::Engine> engine_;
};

TEST_F(FreeBatch, ListsOfPlacesStayThoseOfTheirImages) {
  for (const std::vector<float>& list : {std::vector<float>{1, -1, 2}, std::vector<float>{-1, 2}}) {
    test::GraphFile graph;
    graph.output(places(graph, list));
    graph.write(path_);
    const std::vector<float> first = outputs(1, 0), second = outputs(1, 12);
    EXPECT_THAT(first, testing::ElementsAre(0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11));
    std::vector<float> both = first;
    both.insert(both.end(), second.begin(), second.end());
    EXPECT_EQ(outputs(2, 0), both);
  }
}

TEST_F(FreeBatch, AResizeToAFixedShapeTakesAnyBatch) {
  test::GraphFile graph;
  const int larger = integers(graph, {1, 2, 4, 6});
  graph.output(graph.node("Interpolate", "opset11",
                          "mode=\"nearest\" shape_calculation_mode=\"sizes\" "
                          "coordinate_transformation_mode=\"asymmetric\" nearest_mode=\"floor\" antialias=\"false\" "
                          "pads_begin=\"0\" pads_end=\"0\" cube_coeff=\"-0.75\"",
                          {graph.input("f32", "1,2,2,3"), larger}, "larger"));
  graph.write(path_);
  const std::vector<float> first = outputs(1, 0), second = outputs(1, 12);
  EXPECT_THAT(std::vector<float>(first.begin(), first.begin() + 8), testing::ElementsAre(0, 0, 1, 1, 2, 2, 0, 0));
  std::vector<float> both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(outputs(2, 0), both);
}

// What reads more of it than its order: the batch has to stay where the file puts it.
TEST_F(FreeBatch, AGraphThatMixesImagesTakesOneAtATime) {
  test::GraphFile graph;
  const int list = places(graph);
  graph.output(graph.node("ReduceSum", "opset1", "keep_dims=\"true\"", {list, integers(graph, {0, 1})}, "sum"));
  graph.write(path_);
  EXPECT_EQ(outputs(1, 0), (std::vector<float>{15, 51}));
  try {
    outputs(2, 0);
    FAIL() << "its sum is of both images";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Try --batch 1"));
  }
}

}  // namespace
}  // namespace evener
