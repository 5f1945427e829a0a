// evener data info and synth as a user runs them.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/built_modules.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/random.h"
#include "data/codecs/decode.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DataCommand, WritesSyntheticImagesThatInfoDescribes) {
  const TemporaryFolder folder;
  const std::string fish = (folder / "fish").string();
  const ProgramResult synth =
      run_in_process({"data", "synth", "masks", "--out", fish, "--count", "27", "--size", "59x44"});
  ASSERT_EQ(synth.exit_code, 0) << synth.err;
  EXPECT_THAT(synth.out, HasSubstr("27 images of 59x44 pixels in 9 classes"));

  std::ofstream(folder / "fish/trout/broken.jpg") << "text";
  const ProgramResult info = run_in_process({"data", "info", fish, "--split", "34/33/33", "--json", "-"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  const auto json = nlohmann::json::parse(info.out);
  EXPECT_EQ(json["images"], 27);
  EXPECT_EQ(json["classes"].size(), 9u);
  EXPECT_EQ(json["per_class"]["shrimp"], 3);
  EXPECT_EQ(json["shape"]["channels"], 1);
  EXPECT_EQ(json["shape"]["width"], 59);
  EXPECT_EQ(json["split"]["val"], 9);
  EXPECT_EQ(json["boxes"], 0);
  ASSERT_EQ(json["skipped"].size(), 1u);
  EXPECT_THAT(json["skipped"][0]["file"].get<std::string>(), HasSubstr("trout/broken.jpg"));
  EXPECT_EQ(json["skipped"][0]["reason"],
            "no JPEG, PNG, WebP, GIF, HEIC, AVIF, JPEG XL, RAW, BMP, TIFF or PNM file, but a text file");

  const ProgramResult text = run_in_process({"data", "info", fish});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("27 of 59x44 pixels, grey"));
  EXPECT_THAT(text.out, HasSubstr("broken.jpg: no JPEG"));
  EXPECT_EQ(run_in_process({"data", "info", fish, "--strict"}).exit_code, 1);
}

TEST(DataCommand, ListsImagesThatAreInTwoParts) {
  const TemporaryFolder folder;
  const std::string digits = (folder / "digits").string(), csv = (folder / "pairs.csv").string();
  ASSERT_EQ(run_in_process({"data", "synth", "digits", "--out", digits, "--count", "20"}).exit_code, 0);
  const std::filesystem::path data = folder / "data";
  std::filesystem::create_directories(data);
  for (const char* part : {"train", "val"})
    std::filesystem::copy(digits, data / part, std::filesystem::copy_options::recursive);
  const auto told = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"data", "info", data.string(), "--json", "-"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramResult info = run_in_process(words);
    EXPECT_EQ(info.exit_code, 0) << info.err;
    return nlohmann::json::parse(info.out)["copies"];
  };
  EXPECT_TRUE(told({}).is_null());
  const nlohmann::json copies = told({"--copies", csv});
  EXPECT_EQ(copies["images"], 20);
  EXPECT_EQ(copies["exact"], 20);
  EXPECT_TRUE(copies["near"].is_null());
  EXPECT_THAT(copies["near_reason"].get<std::string>(), HasSubstr("28x28 pixels are too small"));
  const std::string rows = read_file(csv);
  EXPECT_EQ(std::ranges::count(rows, '\n'), 1 + copies["pairs"].get<int>());
  EXPECT_THAT(rows, AllOf(HasSubstr("image,part,copy_of,copy_of_part,relation,distance\n"), HasSubstr(",validation,"),
                          HasSubstr(",training,the same,0.0000\n")));
  const nlohmann::json large = told({"--copies", csv, "--size", "32x32"});
  EXPECT_TRUE(large["near"].is_number());
  EXPECT_TRUE(large["near_reason"].is_null());
  const ProgramResult text = run_in_process({"data", "info", data.string(), "--copies", csv});
  EXPECT_THAT(text.out, HasSubstr("copies    20 of the 20 images to validate or test on are also in training (20 in "
                                  "every pixel, near ones were not looked for"));
  const ProgramResult classless = run_in_process({"data", "info", digits + "/0", "--copies", csv});
  EXPECT_EQ(classless.exit_code, 2);
  EXPECT_THAT(classless.err, HasSubstr("nothing divides it into parts"));
}

TEST(DataCommand, WritesAndDescribesShapesWithTheirBoxes) {
  const TemporaryFolder folder;
  const std::string voc = (folder / "voc").string(), packed = (folder / "shapes.safetensors").string();
  ASSERT_EQ(run_in_process({"data", "synth", "shapes", "--out", voc, "--count", "30", "--size", "64x64"}).exit_code, 0);
  write_text(folder / "voc/Annotations/000003.xml",
             "<annotation><object><name>square</name><bndbox><xmin>5</xmin><ymin>5</ymin><xmax>5</xmax><ymax>9</ymax></"
             "bndbox></object></annotation>");
  const ProgramResult info = run_in_process({"data", "info", voc, "--threads", "2", "--json", "-"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  const auto json = nlohmann::json::parse(info.out);
  EXPECT_EQ(json["images"], 30);
  EXPECT_EQ(json["classes"], nlohmann::json({"circle", "square", "triangle"}));
  std::int64_t boxes = 0;
  for (const auto& [name, count] : json["per_class"].items()) boxes += count.get<std::int64_t>();
  EXPECT_EQ(json["boxes"], boxes);
  EXPECT_GT(boxes, 30);
  EXPECT_GE(json["box_details"]["images_without"], 1);
  EXPECT_EQ(json["reading"]["workers"].size(), 2u);
  EXPECT_GT(json["reading"]["images_per_s"], 0);
  ASSERT_EQ(json["skipped"].size(), 1u);
  EXPECT_THAT(json["skipped"][0]["reason"].get<std::string>(), HasSubstr("a box of 'square' has zero area"));

  ASSERT_EQ(run_in_process({"data", "pack", voc, "--out", packed}).exit_code, 0);
  const ProgramResult text = run_in_process({"data", "info", packed});
  EXPECT_THAT(text.out, HasSubstr("boxes     " + std::to_string(boxes) + ", "));

  const std::string yolo = (folder / "yolo").string();
  const ProgramResult written = run_in_process({"data", "pack", packed, "--format", "yolo", "--out", yolo});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(nlohmann::json::parse(run_in_process({"data", "info", yolo, "--json", "-"}).out)["boxes"], boxes);
  EXPECT_EQ(run_in_process({"data", "pack", voc, "--format", "cocoo", "--out", yolo}).exit_code, 2);
}

TEST(DataCommand, NamesCantControlTheTerminal) {
  const TemporaryFolder folder;
  const data::ImageShape shape{1, 2, 2};
  const std::string png = data::encode_png(shape, std::vector<std::uint8_t>(shape.bytes(), 7));
  write_text(folder / "a\nnote: all is well/1.png", png);
  write_text(folder / "b\x1b[2J/1.png", png);
  write_text(folder / "b\x1b[2J/\xc2\x9bK.png", "no picture");
  const ProgramResult info = run_in_process({"data", "info", folder.path().string()});
  EXPECT_EQ(info.exit_code, 0);
  EXPECT_THAT(info.out, AllOf(HasSubstr(" 1 a?note: all is well\n"), HasSubstr(" 1 b?[2J\n"), HasSubstr("?K.png: ")));
  const ProgramResult train = run_in_process(
      {"train", "mlp:4-2", "--data", folder.path().string(), "--epochs", "1", "--out", (folder / ".run").string()});
  for (const std::string& text : {info.out, info.err, train.out, train.err}) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\xc2\x9b"))));
  }
  EXPECT_THAT(train.err, HasSubstr("?K.png: "));
}

TEST(DataCommand, DescribesPicturesWithoutClasses) {
  const TemporaryFolder folder;
  const std::string fish = (folder / "fish").string();
  ASSERT_EQ(run_in_process({"data", "synth", "masks", "--out", fish, "--count", "18", "--size", "59x44"}).exit_code, 0);
  const std::string trout = fish + "/trout";  // a class's folder, so that it has no class folders itself
  std::ofstream(folder / "fish/trout/broken.jpg") << "text";
  const ProgramResult text = run_in_process({"data", "info", trout});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("2 of 3 files; 0 in colour, 2 grey"));
  EXPECT_THAT(text.out, HasSubstr("59x44 to 59x44 pixels; most often 59x44 (2 images)"));
  EXPECT_THAT(text.out, HasSubstr("broken.jpg: no JPEG"));
  EXPECT_THAT(text.out, HasSubstr("no classes were found"));

  const ProgramResult found = run_in_process({"data", "info", fish + "/**/*.png", "--json", "-"});
  ASSERT_EQ(found.exit_code, 0) << found.err;
  const auto json = nlohmann::json::parse(found.out);
  EXPECT_EQ(json["images"], 18);
  EXPECT_EQ(json["sizes"]["commonest"]["images"], 18);
  EXPECT_EQ(json["grey"], 18);
  EXPECT_EQ(json["classes"].size(), 0u);
  EXPECT_TRUE(json["split"].is_null());
  EXPECT_TRUE(json["skipped"].empty());

  EXPECT_EQ(run_in_process({"data", "info", trout, "--strict"}).exit_code, 1);
  const ProgramResult divided = run_in_process({"data", "info", trout, "--split", "80/10/10"});
  EXPECT_EQ(divided.exit_code, 2);
  EXPECT_THAT(divided.err, HasSubstr("has no classes"));
  const ProgramResult unusable = run_in_process({"data", "info", trout + "/broken.jpg"});
  EXPECT_EQ(unusable.exit_code, 1);
  EXPECT_THAT(unusable.err, HasSubstr("none of the 1 image files"));
}

TEST(DataCommand, EndsWithTheRightCodeAndReason) {
  const TemporaryFolder folder;
  const ProgramResult nowhere = run_in_process({"data", "info", (folder / "nowhere").string()});
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("no such data"));
  const ProgramResult misspelt = run_in_process({"data", "info", "synth:digit"});
  EXPECT_EQ(misspelt.exit_code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("did you mean 'digits'"));
  std::ofstream(folder / "file") << "x";
  const ProgramResult taken =
      run_in_process({"data", "synth", "digits", "--count", "10", "--out", folder.path().string()});
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_THAT(taken.err, HasSubstr("not an empty folder"));
}

/// Two classes of one large picture under many names: reading it takes long, though it is small on disk.
void write_slow_folder(const std::filesystem::path& folder) {
  const data::ImageShape shape{1, 4000, 4000};
  write_text(folder / "a" / "0.png", data::encode_png(shape, std::vector<std::uint8_t>(shape.bytes(), 7)));
  std::filesystem::create_directory(folder / "b");
  for (int i = 1; i < 2000; ++i) {
    const std::string name = std::to_string(i) + ".png";
    std::filesystem::copy_file(folder / "a" / "0.png", folder / (i % 2 != 0 ? "b" : "a") / name);
  }
}

TEST(LongReading, IsNotBegunWhereABatchCantFitIntoMemory) {
  const TemporaryFolder folder;
  write_slow_folder(folder.path());
  const ProgramResult result = run_program({"train", "resnet34", "--data", folder.path().string(), "--batch", "1000"},
                                           {.environment = {}, .cwd = folder.path()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("are available"), HasSubstr("as --size 224x224"), Not(HasSubstr("reading"))));
}

TEST(LongReading, IsShownAndEndsOnCtrlC) {
  const TemporaryFolder folder;
  write_slow_folder(folder / "images");
  const std::string images = (folder / "images").string(), out = (folder / "run").string();
  const std::vector<std::vector<std::string>> commands = {
      {"data", "info", images, "--size", "28x28"},
      {"train", "mlp:784-2", "--data", images, "--size", "28x28", "--out", out}};
  for (const auto& words : commands) {
    RunningProgram program(program_path(), words);
    ASSERT_TRUE(program.wait_for("reading images [")) << program.err();
    program.send(SIGINT);
    const ProgramResult result = program.finish();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(" of 2000 "));
    EXPECT_THAT(result.err, Not(HasSubstr("\r")));  // no redrawing into a file
    EXPECT_EQ(file_count(folder.path()), 1) << "left behind by " << words[0];
  }
}

TEST(DataCommand, PacksWhatInfoThenShowsAlike) {
  const TemporaryFolder folder;
  const std::string file = (folder / "digits.safetensors").string();
  const ProgramResult pack = run_in_process({"data", "pack", "synth:digits:100", "--split", "70/10/20", "--out", file});
  ASSERT_EQ(pack.exit_code, 0) << pack.err;
  EXPECT_THAT(pack.out, HasSubstr("100 images of 28x28 pixels, grey, packed into"));
  const auto source = nlohmann::json::parse(
      run_in_process({"data", "info", "synth:digits:100", "--split", "70/10/20", "--json", "-"}).out);
  const auto packed = nlohmann::json::parse(run_in_process({"data", "info", file, "--json", "-"}).out);
  for (const char* key : {"images", "shape", "classes", "per_class", "split"})
    EXPECT_EQ(packed[key], source[key]) << key;

  const ProgramResult again = run_in_process({"data", "pack", "synth:digits:100", "--out", file});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("--overwrite"));
  EXPECT_EQ(run_in_process({"data", "pack", "synth:digits:50", "--out", file, "--overwrite"}).exit_code, 0);
  EXPECT_THAT(run_in_process({"data", "pack", "synth:digits:50", "--out", (folder / "x.bin").string()}).err,
              HasSubstr("has to end in .safetensors"));
  EXPECT_EQ(file_count(folder.path()), 1);
}

TEST(DataCommand, TakesClassesByPattern) {
  const TemporaryFolder folder;
  const std::string fish = (folder / "fish").string();
  ASSERT_EQ(run_in_process({"data", "synth", "digits", "--out", fish, "--count", "30"}).exit_code, 0);
  const ProgramResult info = run_in_process({"data", "info", "--class", "zero=0/**", fish, "--class", "low=[12]/*.png",
                                             "--class", "low=3/**", "--json", "-"});
  ASSERT_EQ(info.exit_code, 0) << info.err;
  const auto json = nlohmann::json::parse(info.out);
  EXPECT_EQ(json["per_class"]["zero"], 3);
  EXPECT_EQ(json["per_class"]["low"], 9);
  EXPECT_THAT(json["notes"][0].get<std::string>(), HasSubstr("18 image files belong to no --class"));
  EXPECT_THAT(run_in_process({"data", "info", fish, "--class", "low"}).err, HasSubstr("not NAME=GLOB"));
}

TEST(DataCommand, TellsHowWeightsChangeTheSplitAndTheSize) {
  const auto notes = [](const Words& words) {
    const ProgramResult info = run_in_process(joined({"data", "info", "--json", "-"}, words));
    return info.exit_code == 0 ? nlohmann::json::parse(info.out)["notes"].dump() : info.err;
  };
  EXPECT_THAT(
      notes({"synth:digits:40"}),
      HasSubstr("with --weights FILE it divides it by 70/15/15 and brings images to the size that the weights take"));
  EXPECT_THAT(notes({"synth:digits:40", "--size", "8x8"}), AllOf(HasSubstr("70/15/15"), Not(HasSubstr("brings"))));
  EXPECT_THAT(notes({"synth:digits:40", "--split", "50/50"}),
              AllOf(HasSubstr("FILE it brings"), Not(HasSubstr("70/15"))));
  EXPECT_EQ(notes({"synth:digits:40", "--split", "50/50", "--size", "8x8"}), "[]");
}

// evener data labels, and training without the images that it finds, as a user runs them.

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

  // The weights with which a training began know nothing of its labels, and are taken where they are still there.
  const std::string second = (folder_ / "second").string(), weights = (folder_ / "begin.safetensors").string();
  fs::copy_file(fs::path(run) / "best.safetensors", weights);
  ASSERT_EQ(run_in_process({"train", "mlp:784-64-10", "--data", digits(), "--on", "cpu/t1", "--engine", "native",
                            "--epochs", "1", "--weights", weights, "--out", second})
                .exit_code,
            0);
  const ProgramResult begun = run_in_process({"data", "labels", second, "--part", "test", "--on", "cpu/t1"});
  ASSERT_EQ(begun.exit_code, 0) << begun.err;
  EXPECT_THAT(begun.out, HasSubstr("begin.safetensors), with whose weights the training began, and which saw none of"));
  EXPECT_THAT(begun.err, Not(HasSubstr("trained on these very labels")));
  EXPECT_THAT(begun.out, HasSubstr("of " + std::to_string(record_in(second)["data"]["split"]["test"].get<int>()) +
                                   " labels look wrong"));
  fs::remove(weights);
  const ProgramResult own = run_in_process({"data", "labels", second, "--part", "test", "--on", "cpu/t1"});
  EXPECT_THAT(own.out, AllOf(HasSubstr("second/best.safetensors)"), Not(HasSubstr("began"))));
  EXPECT_THAT(own.err, HasSubstr("trained on these very labels"));
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
