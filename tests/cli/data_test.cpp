// evener data info and synth as a user runs them.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/in_process_helpers.h"
#include "cli/run_helpers.h"
#include "data/png_encode.h"

namespace evener::test {
namespace {

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
                                           {.environment = {}, .cwd = folder.path(), .timeout_s = 10 * kSlowdown});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("are available"), HasSubstr("such as --size 224x224")));
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

}  // namespace
}  // namespace evener::test
