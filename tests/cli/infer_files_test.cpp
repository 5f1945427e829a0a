// evener infer with networks in files of other programs.
#include <filesystem>
#include <fstream>

#include "base/tensor.h"
#include "base/tiny_onnx.h"
#include "cli/infer_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

using test::ProgramResult;
using test::Words;
using test::write_tiny_onnx;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class InferFiles : public test::Infer {
 protected:
  /// A picture all of whose pixels are red 200, green 100, blue 50.
  std::string orange() const {
    std::ofstream out(file("orange.ppm"), std::ios::binary);
    out << "P6\n6 6\n255\n";
    for (int pixel = 0; pixel < 36; ++pixel) out << "\xC8\x64\x32";
    return file("orange.ppm");
  }
  /// Lines of "rank,class_index,class_name,score".
  std::vector<std::string> answers(const Words& words) const {
    const ProgramResult result =
        infer(test::joined(words, {"--format", "csv", "--output-type", "logit", "--quiet", "--seconds", "0"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> found = test::lines_of(result.out);
    if (!found.empty()) found.erase(found.begin());
    for (std::string& line : found) line.erase(0, line.find(',') + 1);
    return found;
  }
  std::string failure(const Words& words, int code) const {
    const ProgramResult result = refused(words);
    EXPECT_EQ(result.exit_code, code) << result.err;
    return result.err;
  }
  /// An array of samples whose values count up from 0.
  std::string array(const std::vector<std::int64_t>& shape) const {
    std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    weights::write_safetensors(file("array.safetensors"), {{"images", HostTensor::of_floats(shape, values)}}, {});
    return file("array.safetensors");
  }
};

TEST_F(InferFiles, AFileBesideTheNetworkSaysHowItIsShownImages) {
  const std::string model = file("model.onnx");
  write_tiny_onnx(model, {.input = {-1, 3, -1, -1}, .axes = {2, 3}});
  std::ofstream(file("names.txt")) << "blue\ngreen\nred\n";
  std::ofstream(file("model.toml")) << "size = \"4x4\"\nnormalize = \"pixels\"\nchannel-order = \"bgr\"\n"
                                       "labels = \"names.txt\"\n";
  EXPECT_THAT(answers({model, orange()}), ElementsAre("1,2,red,200", "2,1,green,100", "3,0,blue,50"));
  EXPECT_THAT(infer({model, orange()}).err, HasSubstr("model.toml' beside the network"));
  EXPECT_THAT(answers({model, orange(), "--normalize", "0/0.5", "--topk", "1"}), ElementsAre("1,2,red,1.56863"))
      << "what is typed counts";
  std::ofstream(file("model.toml")) << "sise = \"4x4\"\n";
  EXPECT_THAT(failure({model, orange()}, 2), AllOf(HasSubstr("model.toml, line 1"), HasSubstr("'size'")));
}

TEST_F(InferFiles, NamesOfClassesBesideTheNetwork) {
  const std::string model = file("model.onnx");
  write_tiny_onnx(model, {.input = {1, 3, 4, 4}, .axes = {2, 3}});
  std::ofstream(file("model.classes.txt")) << "first\nsecond\nthird\n";
  EXPECT_THAT(answers({model, orange(), "--topk", "1", "--normalize", "pixels"}), ElementsAre("1,0,first,200"));
}

TEST_F(InferFiles, VolumesPointsAndMeshesAreArrays) {
  const std::string model = file("model.onnx");
  write_tiny_onnx(model, {.input = {-1, 2, 2, 3, 2}, .axes = {2, 3, 4}});
  EXPECT_THAT(answers({model, array({2, 2, 2, 3, 2})}),
              ElementsAre("1,1,class 1,17.5", "2,0,class 0,5.5", "1,1,class 1,41.5", "2,0,class 0,29.5"))
      << "volumes [N, C, D, H, W]";
  write_tiny_onnx(model, {.op = "ReduceMax", .input = {-1, -1, 4}, .axes = {1}});
  EXPECT_THAT(answers({model, array({2, 3, 4}), "--topk", "1"}), ElementsAre("1,3,class 3,11", "1,3,class 3,23"))
      << "points [N, P, F], of any number";
  write_tiny_onnx(model, {.op = "ReduceMax", .input = {2, 5, 3}, .axes = {1}});
  EXPECT_THAT(answers({model, array({3, 5, 3}), "--topk", "1"}),
              ElementsAre("1,2,class 2,14", "1,2,class 2,29", "1,2,class 2,44"))
      << "meshes [N, V, 3], in batches of two";
}

TEST_F(InferFiles, SaysWhatDoesNotFit) {
  const std::string model = file("model.onnx");
  write_tiny_onnx(model, {.input = {-1, 2, 2, 3, 2}, .axes = {2, 3, 4}});
  EXPECT_THAT(failure({model, array({2, 3, 4})}, 1), AllOf(HasSubstr("2x2x3x2"), HasSubstr("3x4")));
  EXPECT_THAT(failure({model, orange()}, 2), HasSubstr("not pictures"));
  write_tiny_onnx(model, {.op = "Transmogrify", .input = {-1, 3, 4, 4}, .axes = {2, 3}});
  EXPECT_THAT(failure({model, orange()}, 1), HasSubstr("Transmogrify"));
  write_tiny_onnx(model, {.input = {-1, 3, -1, -1}, .axes = {2, 3}});
  EXPECT_THAT(failure({model, orange()}, 2), HasSubstr("--size"));
  std::filesystem::resize_file(model, 60);
  EXPECT_THAT(failure({model, orange()}, 1), HasSubstr("model.onnx"));
}

}  // namespace
}  // namespace evener
