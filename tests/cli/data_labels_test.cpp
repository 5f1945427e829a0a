// evener data labels, and training without the images that it finds, as a user runs them.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/built_modules.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/random.h"
#include "cli/in_process_helpers.h"
#include "cli/run_helpers.h"
#include "data/codecs/decode.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Images in a folder for each of ten classes, of which some lie in another's.
class DataLabels : public testing::Test {
 protected:
  void SetUp() override {
    for (int c = 0; c < 10; ++c) {
      for (std::uint64_t i = 0; i < 40; ++i) write_stripe(c, i);
    }
    for (const char* from : {"1", "4", "7"}) {
      for (const auto& entry : sorted_files(fs::path(digits()) / from, 3)) {
        const fs::path to = fs::path(digits()) / "0" / ("was-" + std::string(from) + "-" + entry.filename().string());
        fs::rename(entry, to);
        wrong_.insert(to.string());
      }
    }
  }

  /// Noise of 28x28 pixels with a bright stripe, whose place tells the class.
  void write_stripe(int stripe, std::uint64_t number) const {
    Random random(3, Purpose::kSynthetic, static_cast<std::uint64_t>(stripe), number);
    std::vector<std::uint8_t> pixels(28 * 28);
    for (std::size_t at = 0; at < pixels.size(); ++at) {
      const int column = static_cast<int>(at % 28);
      const std::uint64_t base = column >= 2 * stripe + 4 && column < 2 * stripe + 7 ? 120 : 20;
      pixels[at] = static_cast<std::uint8_t>(base + random.below(100));
    }
    const fs::path folder = fs::path(digits()) / std::to_string(stripe);
    fs::create_directories(folder);
    write_file_atomically(folder / (std::to_string(100 + number) + ".png"), data::encode_png({1, 28, 28}, pixels));
  }

  static std::vector<fs::path> sorted_files(const fs::path& folder, std::size_t most) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
    std::ranges::sort(files);
    files.resize(std::min(most, files.size()));
    return files;
  }

  std::string digits() const { return (folder_ / "digits").string(); }

  /// The first column of labels.csv, of rows of one kind.
  static std::vector<std::string> files_in(const fs::path& table, const std::string& kind) {
    std::ifstream stream(table);
    CsvReader rows(stream);
    std::vector<std::string> files;
    while (rows.next()) {
      if (rows.cell(rows.find_column("kind").value()) == kind) files.push_back(rows.cell(0));
    }
    return files;
  }

  const TemporaryFolder folder_;
  std::set<std::string> wrong_;
};

TEST_F(DataLabels, FindsDigitsInTheWrongFolderByTheirPixels) {
  const fs::path out = folder_ / "doubts";
  const ProgramResult told = run_in_process({"data", "labels", digits(), "--out", out.string()});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("labels look wrong"), HasSubstr("looks like"), HasSubstr("labels.html"),
                              HasSubstr("pixels of the images at 16x16")));
  EXPECT_THAT(told.err, HasSubstr("name a pretrained network"));
  const std::vector<std::string> found = files_in(out / "labels.csv", "wrong");
  EXPECT_THAT(read_file(out / "labels.csv"),
              testing::StartsWith("file,label,suggested,probability,label_probability,score,kind,part\n"));
  EXPECT_GE(std::ranges::count_if(found, [&](const std::string& file) { return wrong_.contains(file); }), 6);
  EXPECT_LE(found.size(), 30U);
  ASSERT_GE(found.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(wrong_.contains(found[i])) << "the worst first: " << found[i];
  const std::string page = read_file(out / "labels.html");
  EXPECT_THAT(page, AllOf(HasSubstr("data:image/png;base64,"), HasSubstr("../digits/0/was-"), HasSubstr("\"likely\"")));

  EXPECT_THAT(run_in_process({"data", "labels", digits(), "--out", out.string()}).err, HasSubstr("--overwrite"));
  const ProgramResult again = run_in_process(
      {"data", "labels", digits(), "--out", out.string(), "--overwrite", "--seed", "2", "--folds", "3", "--json", "-"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const auto json = nlohmann::json::parse(again.out);
  EXPECT_EQ(json["images"], 400);
  EXPECT_GE(json["found"]["wrong"], 5);
  EXPECT_THAT(json["judged_by"].get<std::string>(), HasSubstr("3 folds"));
  EXPECT_GT(json["accuracy"], 0.8);
  EXPECT_EQ(json["pairs"][0]["label"], "0");
}

TEST_F(DataLabels, TrainsWithoutWhatIsDropped) {
  if (!module_is_built("native")) GTEST_SKIP() << "the native engine is not built";
  const Words train = {"train", "mlp:784-8-10", "--data", digits(), "--on", "cpu/t1", "--engine", "native"};
  const std::string all = (folder_ / "all").string(), some = (folder_ / "some").string(),
                    list = (folder_ / "list.txt").string();
  ASSERT_EQ(run_in_process(joined(train, {"--epochs", "1", "--out", all})).exit_code, 0);
  std::string names;
  for (const std::string& file : wrong_) names += fs::path(file).lexically_relative(digits()).string() + "\n";
  write_file_atomically(list, names + "0/nothing.png\n");
  const ProgramResult dropped =
      run_in_process(joined(train, {"--epochs", "1", "--drop", list, "--drop-test", "--out", some}));
  ASSERT_EQ(dropped.exit_code, 0) << dropped.err;
  EXPECT_THAT(dropped.err, AllOf(HasSubstr("9 images named in"), HasSubstr("are left out"),
                                 HasSubstr("1 of the 10 names"), HasSubstr("'0/nothing.png'")));
  const auto images = [](const nlohmann::json& record) {
    const auto& split = record["data"]["split"];
    return split["train"].get<int>() + split["val"].get<int>() + split["test"].get<int>();
  };
  EXPECT_EQ(images(record_in(all)), 400);
  EXPECT_EQ(images(record_in(some)), 391);
  EXPECT_EQ(record_in(some)["config"]["drop"], list);
  EXPECT_THAT(read_file(fs::path(some) / "dropped.txt"), HasSubstr("0/was-1-"));

  // The run goes on by its own list, whatever becomes of the file; and with no other one.
  fs::remove(list);
  const ProgramResult resumed = run_in_process({"train", "--resume", some, "--epochs", "2"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(images(record_in(some)), 391);
  write_file_atomically(list, "1/" + sorted_files(fs::path(digits()) / "1", 1).front().filename().string() + "\n");
  const ProgramResult other = run_in_process({"train", "--resume", some, "--epochs", "3", "--drop", list});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("drop: \"10 names, "));
  // What was left out of the run isn't shown to it either.
  const ProgramResult shown = run_in_process({"infer", some, "--part", "all", "--format", "none", "--json", "-"});
  if (module_is_built("openvino")) {
    EXPECT_THAT(shown.out, HasSubstr("\"images\": 391"));
  }
}

TEST_F(DataLabels, JudgesARunsDataByItsNetwork) {
  if (!module_is_built("native") || !module_is_built("openvino")) GTEST_SKIP() << "native or openvino is not built";
  const std::string run = (folder_ / "run").string();
  ASSERT_EQ(run_in_process({"train", "mlp:784-64-10", "--data", digits(), "--on", "cpu/t1", "--engine", "native",
                            "--epochs", "1", "--out", run})
                .exit_code,
            0);
  const ProgramResult told =
      run_in_process({"data", "labels", run, "--part", "train", "--on", "cpu/t1", "--out", (folder_ / "a").string()});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("64 features of mlp:784-64-10"));
  EXPECT_THAT(told.err, HasSubstr("trained on these very labels"));
  EXPECT_THAT(read_file(folder_ / "a/labels.csv"), HasSubstr(",wrong,train\n"));
  const ProgramResult strange = run_in_process({"data", "labels", digits(), "--model", run, "--size", "20x20"});
  EXPECT_NE(strange.exit_code, 0);
}

TEST_F(DataLabels, TellsWhatIsWrongWithItsWords) {
  const auto error = [&](const Words& words) {
    const ProgramResult result = run_in_process(joined({"data", "labels"}, words));
    EXPECT_NE(result.exit_code, 0);
    return result.err;
  };
  EXPECT_THAT(error({"nowhere"}), HasSubstr("no such data: 'nowhere'"));
  EXPECT_THAT(error({(fs::path(digits()) / "3").string()}), HasSubstr("pictures without labels"));
  EXPECT_THAT(error({digits(), "--model", "resnet20"}), HasSubstr("has no weights here"));
  EXPECT_THAT(error({digits(), "--weights", "there.pt"}), HasSubstr("--model"));
  EXPECT_THAT(error({"synth:shapes:20"}), HasSubstr("found among classes of images alone"));
  EXPECT_THAT(error({digits(), "--part", "test", "--class", "a=nothing/**", "--class", "b=1/**"}),
              HasSubstr("nothing"));
  EXPECT_THAT(run_in_process({"train", "mlp:784-8-10", "--data", digits(), "--drop-test"}).err, HasSubstr("give both"));
  EXPECT_THAT(run_in_process({"train", "mlp:784-8-10", "--data", digits(), "--drop", "nowhere.csv"}).err,
              AllOf(HasSubstr("--drop"), HasSubstr("nowhere.csv")));
}

TEST_F(DataLabels, TakesClassesByPatternsAndBadFilesStrictly) {
  write_file_atomically(fs::path(digits()) / "1/broken.png", "text");
  const Words words = {"data", "labels", digits(), "--class", "one=1/**", "--class", "zero=0/**", "--size", "14x14"};
  const ProgramResult told = run_in_process(words);
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, AllOf(HasSubstr("14x14"), HasSubstr("zero")));
  EXPECT_THAT(told.err, HasSubstr("broken.png"));
  EXPECT_EQ(run_in_process(joined(words, {"--quiet"})).err, "");
  EXPECT_NE(run_in_process(joined(words, {"--strict"})).exit_code, 0);
}

}  // namespace
}  // namespace evener::test
