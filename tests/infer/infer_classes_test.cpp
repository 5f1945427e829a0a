// What infer tells of images whose classes are known: by class, which were taken for which, and the surest mistakes.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/paths.h"
#include "base/simd_level.h"
#include "base/tensor.h"
#include "base/tiny_onnx.h"
#include "support/in_process_helpers.h"
#include "support/infer_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = test::Words;
using nlohmann::json;
using test::Infer;
using test::joined;
using test::lines_of;
using test::ProgramResult;
using test::record_in;
using test::run_in_process;
using test::run_program;
using test::RunningProgram;
using test::Words;
using test::write_tiny_onnx;
using ::testing::AllOf;
using testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class InferClasses : public Infer {
 protected:
  /// Three pictures that are all the same, of different classes: at least two are mistakes.
  std::string alike() const { return pictures({"3/a.pgm", "5/b.pgm", "7/c.pgm"}); }
};

TEST_F(InferClasses, AreToldWithMistakesByFile) {
  const std::string run = trained(), folder = alike();
  const ProgramResult result = infer({run, folder, "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("accuracy"), HasSubstr("(95 %: "), HasSubstr("class"), HasSubstr("images"),
                                HasSubstr("the surest mistakes"), HasSubstr("b.pgm"), HasSubstr("taken for")));
  std::ifstream table(file("out/mistakes.csv"));
  const auto lines = lines_of({std::istreambuf_iterator<char>(table), {}});
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0], "file,true_class,found_class,score");
  const json record = record_in(file("out"));
  int images = 0;
  for (const auto& row : record["confusion"]["counts"]) {
    for (const int count : row) images += count;
  }
  EXPECT_EQ(images, 3);
  const ProgramResult page = test::run_in_process({"report", file("out"), "--html", file("page.html")});
  ASSERT_EQ(page.exit_code, 0) << page.err;
  std::ifstream html(file("page.html"));
  const std::string text{std::istreambuf_iterator<char>(html), {}};
  EXPECT_THAT(text, AllOf(HasSubstr("The surest mistakes of"), HasSubstr("Classes of")));
}

TEST_F(InferClasses, TheSurestMistakesComeFirst) {
  const std::string run = trained(), folder = alike();
  for (const char* name : {"3/d.pgm", "5/d.pgm"}) {  // another picture, of whose two classes one is wrong at least
    std::ofstream(folder + "/" + name, std::ios::binary) << "P5\n2 1\n255\n" << '\xff' << '\0';
  }
  ASSERT_EQ(infer({run, folder, "--out", file("out")}).exit_code, 0);
  std::ifstream table(file("out/mistakes.csv"));
  const auto lines = lines_of({std::istreambuf_iterator<char>(table), {}});
  std::vector<double> scores;
  for (std::size_t i = 1; i < lines.size(); ++i) scores.push_back(std::stod(lines[i].substr(lines[i].rfind(',') + 1)));
  ASSERT_GE(scores.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(scores, std::greater<>())) << testing::PrintToString(scores);
  EXPECT_GT(scores.front(), scores.back());
}

TEST_F(InferClasses, OfEachImageAreToldOnRequest) {
  const std::string run = trained(), folder = alike();
  const ProgramResult result = infer({run, folder, "--topk", "99"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("a.pgm"), HasSubstr("c.pgm")));
  EXPECT_THAT(result.err, HasSubstr("there are 10 classes; --topk 99 tells all of them"));
  EXPECT_THAT(infer({run, folder, "--format", "csv", "--topk", "2"}).out, Not(HasSubstr("surest")));
}

TEST_F(InferClasses, NetworksWithoutWeightsSayNothingOfPictures) {
  const std::string folder = alike();
  const ProgramResult without = refused({"resnet20", folder});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, AllOf(HasSubstr("--weights FILE"), HasSubstr("--random")));
  EXPECT_EQ(infer({"resnet20", folder, "--random"}).exit_code, 0);
  EXPECT_EQ(infer({"mlp:784-10", "random:4"}).exit_code, 0);
}

TEST_F(InferClasses, SpeedTimesSecondsIsTheNumberOfImages) {
  const ProgramResult result = infer({"mlp:784-10", "random:100", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json metrics = json::parse(result.out)["metrics"];
  const double speed = metrics["images_per_s_overall"]["value"], seconds = metrics["answering_s"]["value"];
  EXPECT_NEAR(speed * seconds, 100, 1e-6);
}

// What infer says of the images that it shows: which part of a run's own data, and what of each picture.

TEST_F(Infer, OfARunsOwnDataThePartAndItsSizeAreTold) {
  const std::string images = file("digits"), run = file("run");
  ASSERT_EQ(run_in_process({"data", "synth", "digits", "--out", images, "--count", "60"}).exit_code, 0);
  const ProgramResult trained =
      run_program({"train", "mlp:784-8-10", "--data", images, "--epochs", "1", "--batch", "16", "--out", run});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const ProgramResult part = run_program({"infer", run, images, "--format", "none"});
  ASSERT_EQ(part.exit_code, 0) << part.err;
  EXPECT_THAT(part.err, AllOf(HasSubstr("the test part of"), HasSubstr("10 of its 60 images; --part all shows all")));
  EXPECT_THAT(part.out, HasSubstr("whole images, stretched to 28x28"));
  const ProgramResult all = run_program({"infer", run, images, "--format", "none", "--part", "all"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.err, AllOf(HasSubstr("60 images"), Not(HasSubstr("part of"))));
}

// Its accuracy on what it was trained on would look too good.
TEST_F(Infer, WithoutATestPartTheValidationIsShown) {
  const std::string run = file("run");
  const ProgramResult trained = run_program({"train", "mlp:784-8-10", "--data", "synth:digits:60", "--split", "70/30/0",
                                             "--epochs", "1", "--batch", "16", "--out", run});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const ProgramResult shown = run_program({"infer", run, "--format", "none"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.err, HasSubstr("the validation part of 'synth:digits:60', 20 of its 60 images"));
}

// evener infer with networks in files of other programs.

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

TEST_F(InferFiles, NamesOfClassesInMetadata) {
  const std::string model = file("model.onnx");
  const auto named = [&](const std::string& names) {
    write_tiny_onnx(model, {.input = {1, 3, 4, 4}, .axes = {2, 3}, .metadata = {{"names", names}}});
    return answers({model, orange(), "--topk", "1", "--normalize", "pixels"});
  };
  EXPECT_THAT(named("{3: 'third', 1: 'first', 2: 'second'}"), ElementsAre("1,0,first,200"));
  EXPECT_THAT(named("{1: 'second', 2: 'third'}"), ElementsAre("1,0,class 0,200"));
  EXPECT_THAT(named("{0: 'first'"), ElementsAre("1,0,class 0,200"));
  EXPECT_THAT(infer({model, orange()}).err, AllOf(HasSubstr("can't be read, '{0: 'first''"), HasSubstr("--labels")));
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

// evener infer with every engine and in bf16: the same answers within what they round.

constexpr std::size_t kClasses = 10;

/// The scores of each image, by class.
using Scores = std::vector<std::vector<double>>;

std::size_t best_of(const std::vector<double>& scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

/// How far the best score is from the second one.
double margin_of(std::vector<double> scores) {
  std::ranges::sort(scores, std::greater<>());
  return scores[0] - scores[1];
}

double relative_difference(const Scores& a, const Scores& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, norm = 0;
  for (std::size_t image = 0; image < std::min(a.size(), b.size()); ++image) {
    for (std::size_t c = 0; c < kClasses; ++c) {
      difference += std::pow(a[image][c] - b[image][c], 2);
      norm += std::pow(b[image][c], 2);
    }
  }
  return std::sqrt(difference / norm);
}

class InferPrecision : public test::Infer {
 protected:
  Scores scores(const Words& words) const {
    const ProgramResult result =
        infer(joined(words, {"--format", "csv", "--topk", "10", "--output-type", "logit", "--on", "cpu/t2"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    Scores scores;
    for (const std::string& line : lines_of(result.out)) {  // file,rank,class_index,class_name,score
      std::vector<std::string> cells;
      std::istringstream stream(line);
      for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
      if (cells.at(1) == "rank") continue;
      if (cells[1] == "1") scores.emplace_back(kClasses);
      scores.back().at(std::stoul(cells[2])) = std::stod(cells[4]);
    }
    return scores;
  }
};

// So few images that no trial of engines is made; LibTorch's runner tries by itself whether Winograd's convolutions
// pay.
TEST_F(InferPrecision, AConvolutionalNetworkGivesTheSameScoresInEveryEngine) {
  const Words what = {"resnet20", "random:6", "--size", "32x32", "--classes", "10"};
  const Scores openvino = scores(joined(what, {"--engine", "openvino"}));
  ASSERT_EQ(openvino.size(), 6U);
  for (const char* batch : {"1", "4", "6"}) {
    EXPECT_LT(relative_difference(scores(joined(what, {"--engine", "torch", "--batch", batch})), openvino), 1e-4);
  }
  for (const std::string engine : {"openvino", "torch"}) {
    const Scores rounded = scores(joined(what, {"--engine", engine, "--precision", "bf16"}));
    // Values of 8 bits, rounded once or twice in each of 20 layers.
    EXPECT_LT(relative_difference(rounded, openvino), 0.03) << engine;
    if (engine == "torch" || has_bfloat16_products()) {
      EXPECT_GT(relative_difference(rounded, openvino), 1e-4) << engine << " has not rounded";
    }
  }
}

TEST_F(InferPrecision, Bf16FindsTheClassesThatFp32Finds) {
  const std::string run = trained();
  const Scores wide = scores({run});
  ASSERT_EQ(wide.size(), 120U);
  for (const std::string engine : {"openvino", "torch"}) {
    const Scores rounded = scores({run, "--engine", engine, "--precision", "bf16"});
    ASSERT_EQ(rounded.size(), wide.size());
    EXPECT_LT(relative_difference(rounded, wide), 0.01) << engine;
    std::size_t agreed = 0;
    for (std::size_t image = 0; image < wide.size(); ++image) {
      const bool agrees = best_of(rounded[image]) == best_of(wide[image]);
      agreed += agrees ? 1 : 0;
      EXPECT_TRUE(agrees || margin_of(wide[image]) < 0.2) << engine << ", image " << image;
    }
    EXPECT_GE(agreed, wide.size() - 3) << engine;
  }
}

// evener infer where something is in its way: the user, the disk, a quota, the data.

const Words kTiny = {"mlp:4-3-2", "--on", "cpu/t1", "--seconds", "0"};

class InferTrouble : public test::Infer {
 protected:
  /// `script` of bash, in which $evener is the program.
  ProgramResult bash(const std::string& script) const {
    auto with_program = options();
    with_program.environment["evener"] = test::program_path();
    return RunningProgram("/bin/bash", {"-c", script}, with_program).finish();
  }
};

TEST_F(InferTrouble, CtrlCEndsEachScenarioInGoodOrder) {
  for (const char* scenario : {"single-stream", "multi-stream", "server", "offline"}) {
    SCOPED_TRACE(scenario);
    const Words words = {"--scenario", scenario, "--min-duration", "60", "--out", file(scenario)};
    RunningProgram program(test::program_path(), joined({"infer", "mlp:4-3-2", "random:20", "--on", "cpu/t1"}, words),
                           options());
    ASSERT_TRUE(program.wait_for("random weights")) << program.err();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    program.send(SIGINT);
    const ProgramResult result = program.finish();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_THAT(result.err, HasSubstr("evener: interrupted; the record says what is known until then"));
    EXPECT_THAT(result.out, HasSubstr("INVALID"));
    EXPECT_EQ(record_in(file(scenario))["status"], "interrupted");
    EXPECT_TRUE(fs::exists(file(scenario) + "/latencies.csv"));
  }
}

TEST_F(InferTrouble, CtrlCKeepsTheAnswersSoFar) {
  RunningProgram program(
      test::program_path(),
      joined({"infer"}, joined(kTiny, {"random:100000000", "--format", "csv", "--out", file("out")})), options());
  ASSERT_TRUE(program.wait_for("#20,1,"));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("interrupted after "));
  EXPECT_EQ(record_in(file("out"))["status"], "interrupted");
  std::ifstream csv(file("out/predictions.csv"));
  EXPECT_GT(std::count(std::istreambuf_iterator<char>(csv), {}, '\n'), 20);
}

TEST_F(InferTrouble, AFullDiskEndsItEarly) {
  const ProgramResult answers =
      bash("exec $evener infer mlp:4-3-2 random:5000 --on cpu/t1 --seconds 0 --format table > /dev/full");
  EXPECT_EQ(answers.exit_code, 1);
  EXPECT_THAT(answers.err, HasSubstr("can't write to standard output: No space left on device"));
  const test::SmallDisk disk("size=64k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const ProgramResult folder =
      infer(joined(kTiny, {"random:100000000", "--out", (disk.path() / "run").string(), "--format", "none"}));
  EXPECT_EQ(folder.exit_code, 1);
  EXPECT_THAT(folder.err, AllOf(HasSubstr("predictions.csv"), HasSubstr("the disk is full")));
}

TEST_F(InferTrouble, WhoeverReadsTheAnswersMayStop) {
  const ProgramResult result =
      bash("set -o pipefail; $evener infer mlp:4-3-2 random:100000000 --on cpu/t1 --format jsonl | head -n 2");
  EXPECT_EQ(result.exit_code, 128 + SIGPIPE);
  EXPECT_EQ(test::lines_of(result.out).size(), 2u);
}

TEST_F(InferTrouble, AFolderThatCannotBeWrittenIsSaidBeforeTheWork) {
  const ProgramResult result =
      refused(joined(kTiny, {"random:100000000", "--features", "/proc/none/features.safetensors"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("/proc/none"));
}

TEST_F(InferTrouble, WithoutAPlaceForCompiledNetworksTheyAreNotKept) {
  auto nowhere = options();
  nowhere.environment["XDG_CACHE_HOME"] = "/proc/none";
  const ProgramResult result = test::run_program(joined({"infer"}, joined(kTiny, {"random:3"})), nowhere);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(InferTrouble, ClassesOfTheDataThatTheNetworkDoesNotKnow) {
  const std::string run = trained();
  const ProgramResult some = refused({run, pictures({"3/a.pgm", "seven/b.pgm"})});
  EXPECT_EQ(some.exit_code, 2);
  EXPECT_THAT(some.err,
              AllOf(HasSubstr("class 'seven', which mlp:784-32-10 doesn't know (it knows 0, 1, 2"), HasSubstr("/**'")));
  const ProgramResult other = refused({run, "synth:masks:20"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("the classes of 'synth:masks:20' are not those that mlp:784-32-10 knows"));
}

TEST_F(InferTrouble, PicturesThatStopInTheMiddle) {
  const std::string folder = pictures({"a.pgm", "b.pgm"});
  for (const char* name : {"a.pgm", "b.pgm"}) fs::resize_file(fs::path(folder) / name, 100);
  const ProgramResult answers = infer({"resnet20", folder, "--random", "--on", "cpu/t1"});
  EXPECT_EQ(answers.exit_code, 1);
  EXPECT_THAT(answers.err, AllOf(HasSubstr("2 images could not be read"), HasSubstr("b.pgm: "),
                                 HasSubstr("none of the images could be read")));
  const ProgramResult scenario = infer({"resnet20", folder, "--on", "cpu/t1", "--scenario", "offline"});
  EXPECT_EQ(scenario.exit_code, 1);
  EXPECT_THAT(scenario.err, HasSubstr("a scenario needs images that can be"));
}

/// A control group of half a core, where we may make one.
class HalfACore {
 public:
  HalfACore() {
    const std::string name = "evener-test-" + std::to_string(getpid());
    for (const fs::path root : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"}) {
      if (!fs::exists(root / "cgroup.procs") || mkdir((root / name).c_str(), 0755) != 0) continue;
      group_ = root / name;
      if (write("cpu.max", "50000 100000") || write("cpu.cfs_quota_us", "50000")) return;
      rmdir(group_.c_str());
      group_.clear();
    }
  }
  ~HalfACore() {
    if (!group_.empty()) rmdir(group_.c_str());
  }
  HalfACore(const HalfACore&) = delete;
  HalfACore& operator=(const HalfACore&) = delete;

  /// Empty where none could be made.
  const fs::path& group() const { return group_; }

 private:
  bool write(const char* name, const char* value) const {
    if (!fs::exists(group_ / name)) return false;
    std::ofstream file(group_ / name);
    file << value << std::flush;
    return file.good();
  }

  fs::path group_;
};

TEST_F(InferTrouble, AQuotaOfHalfACoreLeavesOneThread) {
  const HalfACore half;
  if (half.group().empty()) GTEST_SKIP() << "no control group can be made here";
  const ProgramResult result =
      bash("echo $$ > " + half.group().string() +
           "/cgroup.procs && exec $evener infer resnet20 random:20 --format none --seconds 0 --out " + file("out"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 thread (a quota allows 0.5 CPUs), 1 stream"));
  EXPECT_EQ(record_in(file("out"))["config"]["streams"], 1);
}

}  // namespace
}  // namespace evener
