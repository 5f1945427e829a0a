// evener infer, as a user runs it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "base/files.h"
#include "base/simd_level.h"
#include "support/in_process_helpers.h"
#include "support/infer_helpers.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Infer;
using test::joined;
using test::lines_of;
using test::ProgramResult;
using test::record_in;
using test::run_in_process;
using test::run_program;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = test::Words;

TEST_F(Infer, ARunFolderAloneGivesTheTestAccuracyOfItsRecord) {
  const std::string run = trained();
  const ProgramResult result = infer({run, "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json record = json::parse(result.out);
  EXPECT_EQ(record["metrics"]["accuracy"]["value"], record_in(run)["accuracy"]["test"]);
  EXPECT_EQ(record["data"]["images"], 120);
  EXPECT_GT(record["metrics"]["network_images_per_s"]["value"], 0);
}

TEST_F(Infer, StagesAnswerAsOneDeviceAndAreTold) {
  const std::string run = trained();
  const Words shown = {run, "random:20", "--format", "csv", "--output-type", "logit"};
  const ProgramResult alone = infer(joined(shown, {"--on", "cpu/t1"}));
  const ProgramResult divided = infer(joined(shown, {"--on", "cpu/t1..cpu/t1", "--out", file("out")}));
  ASSERT_EQ(divided.exit_code, 0) << divided.err;
  EXPECT_EQ(divided.out, alone.out) << "in the digits that are written";
  const json record = record_in(file("out"));
  const json stages = record["placement"]["replicas"][0]["stages"];
  ASSERT_EQ(stages.size(), 2);
  for (const json& stage : stages) {
    EXPECT_GT(stage["predicted_memory_bytes"], 0);
    EXPECT_THAT(stage["busy_share"].get<double>(), AllOf(testing::Gt(0), testing::Le(1)));
  }
  EXPECT_GT(record["metrics"]["pipeline_bubble"]["value"], 0);
}

TEST_F(Infer, TheSpeedOfFewImagesIsThatOfAllTogether) {
  // Answers come in bunches, so the time between two of them says nothing.
  const ProgramResult few =
      infer({"mlp:784-10", "random:48", "--batch", "16", "--on", "cpu/t2", "--streams", "2", "--json", "-"});
  ASSERT_EQ(few.exit_code, 0) << few.err;
  EXPECT_EQ(json::parse(few.out)["images_per_s_details"]["samples"].size(), 1);
  const ProgramResult many =
      infer({"mlp:784-10", "random:480", "--batch", "16", "--on", "cpu/t2", "--streams", "2", "--json", "-"});
  EXPECT_EQ(json::parse(many.out)["images_per_s_details"]["samples"].size(), 3);  // of 4 * 2 calls
}

TEST_F(Infer, PicturesAreCutAsThoseOfTheTraining) {
  const std::string photos = pictures({"a/1.pgm", "a/2.pgm", "b/3.pgm", "b/4.pgm"});
  const std::string run = file("bordered");
  const ProgramResult trained =
      run_program({"train", "mlp:784-2", "--data", photos, "--size", "28x28", "--channels", "1", "--crop", "letterbox",
                   "--split", "100/0", "--epochs", "1", "--on", "cpu/t1", "--out", run});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto scores = [&](const Words& more) {
    return infer(joined({run, photos + "/a/1.pgm", "--format", "csv", "--output-type", "logit"}, more)).out;
  };
  EXPECT_EQ(scores({}), scores({"--crop", "letterbox"}));
  EXPECT_NE(scores({}), scores({"--crop", "stretch"}));
}

TEST_F(Infer, LabelledPicturesGiveAccuracyTopFiveAndConfusion) {
  const std::string run = trained();
  // All pictures are the same one, so all of them are found to be the same class.
  const std::string folder = pictures({"3/a.pgm", "3/b.pgm", "5/c.pgm", "7/d.pgm"});
  const ProgramResult table = infer({run, folder, "--format", "csv", "--topk", "10"});
  std::vector<std::string> order;  // of the classes, by how likely they are
  for (const std::string& line : lines_of(table.out)) {
    if (line.find("a.pgm") != std::string::npos) order.push_back(line.substr(line.find(',') + 1));
  }
  ASSERT_EQ(order.size(), 10u) << table.err;
  std::map<std::string, int> rank;
  for (const std::string& row : order) {
    const auto comma = row.find(',');
    rank[row.substr(comma + 1, 1)] = std::stoi(row);
  }
  const ProgramResult result = infer({run, folder, "--json", "-", "--out", file("out")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json metrics = json::parse(result.out)["metrics"];
  const auto share = [&](int most) {
    return ((rank["3"] <= most ? 2 : 0) + (rank["5"] <= most ? 1 : 0) + (rank["7"] <= most ? 1 : 0)) / 4.0;
  };
  EXPECT_EQ(metrics["accuracy"]["value"], share(1));
  EXPECT_EQ(metrics["top5_accuracy"]["value"], share(5));
  std::ifstream file_of(file("out/confusion.csv"));
  const std::string csv{std::istreambuf_iterator<char>(file_of), {}};
  const std::string found = order.front().substr(2, 1);
  EXPECT_EQ(csv, "true_class,found_class,images\n3," + found + ",2\n5," + found + ",1\n7," + found + ",1\n");
}

TEST_F(Infer, EveryEngineAndPlacementGivesTheSame) {
  const std::string run = trained();
  const std::string first = infer({run, "--format", "csv", "--topk", "1", "--on", "cpu/t1"}).out;
  EXPECT_EQ(lines_of(first).size(), 121u);
  const auto classes = [](const std::string& csv) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(csv)) found.push_back(line.substr(0, line.rfind(',')));
    return found;
  };
  for (const Words& how : {Words{"--engine", "torch", "--on", "cpu/t1"}, Words{"--on", "2xcpu/t1", "--batch", "3"},
                           Words{"--on", "cpu/t2", "--streams", "2", "--batch", "7"}}) {
    const ProgramResult result = infer(joined({run, "--format", "csv", "--topk", "1"}, how));
    EXPECT_EQ(classes(result.out), classes(first)) << how.back() << result.err;
  }
}

TEST_F(Infer, ARuleChoosesTheEngine) {
  for (const char* engine : {"torch", "openvino"}) {
    if (!test::module_is_built(engine)) GTEST_SKIP() << "the " << engine << " engine is not built";
  }
  if (simd_level() == SimdLevel::kBaseline) GTEST_SKIP() << "this processor has no AVX2";
  const Words words = {"resnet20", "--size",    "64x64", "--channels", "3",      "--classes", "3",      "--batch",
                       "16",       "--seconds", "0",     "--on",       "cpu/t1", "--random",  "--json", "-"};
  const auto notes = [&](const Words& more) {
    const ProgramResult result = infer(joined(words, more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out)["notes"].dump();
  };
  EXPECT_THAT(notes({"random:16"}), HasSubstr("torch computed: by rule 1."));
  EXPECT_THAT(notes({pictures({"a.pgm"})}), HasSubstr("openvino computed: the sooner one for so few images"));
  EXPECT_THAT(notes({"random:16", "--precision", "bf16"}), HasSubstr("openvino computed: the faster one in bf16"));
  EXPECT_THAT(notes({"random:16", "--engine", "openvino"}), Not(HasSubstr("computed: ")));
  EXPECT_THAT(notes({"random:16", "--engine", "torch"}), Not(HasSubstr("computed: ")));
}

TEST_F(Infer, PicturesAreToldInTheirOrderAndBadOnesListed) {
  const std::string run = trained();
  const std::string folder = pictures({"b.pgm", "a.pgm", "below/c.pgm"});
  std::ofstream(fs::path(folder) / "bad.pgm") << "P5\n20 30\n255\ncut short";
  const ProgramResult result = infer({run, folder, "--topk", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("a.pgm"), HasSubstr(" %")));
  EXPECT_THAT(lines[1], HasSubstr("b.pgm"));
  EXPECT_THAT(lines[2], HasSubstr("c.pgm"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("1 image could not be read"), HasSubstr("bad.pgm")));
  EXPECT_EQ(refused({run, folder, "--strict"}).exit_code, 1);
}

TEST_F(Infer, AFolderHoldsPredictionsAndTheRecord) {
  const std::string run = trained();
  const ProgramResult result = infer({run, "--out", file("out"), "--format", "jsonl", "--topk", "3"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json line = json::parse(lines_of(result.out).front());
  EXPECT_EQ(line["predictions"].size(), 3u);
  std::ifstream csv(file("out/predictions.csv"));
  std::string heading;
  std::getline(csv, heading);
  EXPECT_EQ(heading, "file,rank,class_index,class_name,probability");
  EXPECT_EQ(record_in(file("out"))["kind"], "infer");
  EXPECT_TRUE(fs::exists(file("out/answers.json")));
  EXPECT_TRUE(fs::exists(file("out/confusion.csv")));
  const ProgramResult report = run_in_process({"report", file("out"), "--no-html"});
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("mlp:784-32-10"));
}

TEST_F(Infer, ScoresAreNamedByWhatTheyAre) {
  const auto heading_of = [](const std::string& csv) { return csv.substr(0, csv.find('\n')); };
  for (const auto& [type, name] : {std::pair("logit", "logit"), {"prob", "probability"}}) {
    const Words words = {"mlp:4-3-2", "random:1", "--random", "--output-type", type, "--seconds", "0"};
    const ProgramResult csv = infer(joined(words, {"--format", "csv", "--out", file(type)}));
    ASSERT_EQ(csv.exit_code, 0) << csv.err;
    EXPECT_EQ(heading_of(csv.out), std::string("file,rank,class_index,class_name,") + name);
    EXPECT_EQ(heading_of(read_file(file(type) + "/predictions.csv")), heading_of(csv.out));
    const json one = json::parse(infer(joined(words, {"--format", "jsonl"})).out)["predictions"][0];
    EXPECT_TRUE(one.contains(name)) << one;
    EXPECT_EQ(one.size(), 3U);
  }
}

TEST_F(Infer, ThreadsShareACallWhereThereAreFewerCallsThanThreads) {
  const auto setup = [this](const Words& more) {
    const ProgramResult result = infer(joined({"mlp:4-3-2", "--on", "cpu/t2", "--json", "-", "--seconds", "0"}, more));
    EXPECT_THAT(result.exit_code, testing::AnyOf(0, 3)) << result.err;  // a scenario beside other programs is INVALID
    const json record = json::parse(result.out);
    return std::pair(record["batch"].get<int>(), record["config"]["streams"].get<int>());
  };
  EXPECT_EQ(setup({"random:1"}), std::pair(1, 1));
  EXPECT_EQ(setup({"random:5"}), std::pair(3, 2));
  EXPECT_EQ(setup({"random:100"}), std::pair(8, 2));
  EXPECT_EQ(setup({"random:5", "--batch", "5"}), std::pair(5, 1));
  EXPECT_EQ(setup({"random:1", "--streams", "2"}), std::pair(1, 2));
  EXPECT_EQ(setup({"random:1", "--scenario", "offline", "--min-duration", "0.01", "--quick"}).second, 2);
  const Words two_replicas = {"--batch", "8", "--on", "2xcpu/t2", "--oversubscribe"};
  EXPECT_EQ(setup(joined({"random:16"}, two_replicas)).second, 1) << "a call for each";
  EXPECT_EQ(setup(joined({"random:17"}, two_replicas)).second, 2);
}

TEST_F(Infer, StreamsBeyondTheThreadsAreToldWithTheRecord) {
  const ProgramResult result =
      infer({"mlp:4-3-2", "random:9", "--on", "cpu/t2", "--streams", "4", "--json", "-", "--seconds", "0"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("warning: --streams 4 came to 2: "));
  const json record = json::parse(result.out);
  EXPECT_EQ(record["config"]["streams"], 2);
  EXPECT_THAT(record["fallbacks"].dump(), HasSubstr("--streams 4 came to 2"));
}

TEST_F(Infer, FeaturesAreWhatTheLastLayerReads) {
  const std::string run = trained();
  ASSERT_EQ(infer({run, pictures({"a.pgm", "b.pgm"}), "--features", file("features.safetensors")}).exit_code, 0);
  const auto features = weights::read_safetensors(file("features.safetensors"));
  EXPECT_EQ(features.tensors.at("features").shape, (std::vector<std::int64_t>{2, 32}));
  EXPECT_THAT(features.metadata.at("files"), HasSubstr("a.pgm"));
}

TEST_F(Infer, ListsPatternsAndRandomImages) {
  const std::string run = trained();
  const std::string folder = pictures({"a.pgm", "b.pgm", "c.pgm"});
  std::ofstream(file("list.txt")) << folder << "/c.pgm\n" << folder << "/a.pgm\n";
  const auto listed = lines_of(infer({run, file("list.txt")}).out);
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_THAT(listed[0], HasSubstr("c.pgm"));
  EXPECT_EQ(lines_of(infer({run, folder + "/[ab].pgm"}).out).size(), 2u);
  std::ofstream(file("list.txt")) << "\xEF\xBB\xBF" << folder << "/b.pgm\r\n";
  EXPECT_THAT(infer({run, file("list.txt")}).out, HasSubstr("b.pgm"));
  const ProgramResult random = infer({run, "random:200"});
  EXPECT_EQ(random.exit_code, 0) << random.err;
  EXPECT_LT(lines_of(random.out).size(), 20u) << "they are shown to measure, and their answers say nothing";
  EXPECT_EQ(lines_of(infer({run, "random:5", "--format", "table"}).out).size(), 5u);
}

TEST_F(Infer, FoldersThatAreNoClassesAreJustPictures) {
  const std::string run = trained();
  const ProgramResult result = infer({run, pictures({"2019/a.pgm", "2020/b.pgm"})});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of(result.out).size(), 2u);
  EXPECT_THAT(result.err, HasSubstr("without labels"));
}

TEST_F(Infer, ScenariosMeasureLatency) {
  const std::string run = trained();
  for (const char* scenario : {"single-stream", "multi-stream", "offline", "server"}) {
    SCOPED_TRACE(scenario);
    Words words = {run,   "random:20", "--scenario",   scenario, "--min-duration",
                   "0.1", "--out",     file(scenario), "--json", "-"};
    if (std::string(scenario) == "server") words = joined(std::move(words), {"--target-rate", "2000"});
    const ProgramResult result = infer(words);
    ASSERT_THAT(result.exit_code, testing::AnyOf(0, 3)) << result.err;  // a busy machine may be too slow to be VALID
    const json record = json::parse(result.out);
    EXPECT_EQ(record["scenario"]["name"], scenario);
    EXPECT_EQ(result.exit_code == 0, record["validity"]["valid"].get<bool>());
    EXPECT_TRUE(fs::exists(file(scenario) + "/latencies.csv"));
  }
  // Without a folder it is looked at as closely.
  const Words alone = {run, "random:20", "--scenario", "offline", "--min-duration", "0.1"};
  const ProgramResult unkept = infer(joined(alone, {"--json", "-"})), told = infer(alone);
  const json record = json::parse(unkept.out);
  EXPECT_TRUE(record["cpu"]["others_percent"]["mean"].is_number());
  EXPECT_EQ(unkept.exit_code, record["validity"]["valid"].get<bool>() ? 0 : 3);
  EXPECT_EQ(told.exit_code, told.out.find("\nINVALID\n") == std::string::npos ? 0 : 3) << told.out;
  EXPECT_NE(told.out.find("VALID\n"), std::string::npos);
  const ProgramResult report = run_in_process({"report", file("single-stream"), "--html", file("report.html")});
  EXPECT_EQ(report.exit_code, 0) << report.err;
}

TEST_F(Infer, TheDataOfATrainingIsKnownFromAnyWorkingFolder) {
  const std::string digits = file("digits");
  ASSERT_EQ(run_in_process({"data", "synth", "digits:300", "--out", digits}).exit_code, 0);
  test::ProgramOptions inside = options();
  inside.cwd = folder_.path();
  const ProgramResult training = run_program(
      {"train", "mlp:784-8-10", "--data", "digits", "--split", "50/0/50", "--epochs", "1", "--out", file("run")},
      inside);
  ASSERT_EQ(training.exit_code, 0) << training.err;
  for (const Words& words :
       {Words{file("run"), digits, "--part", "test"}, Words{file("run"), digits}, Words{file("run")}}) {
    const ProgramResult result = infer(joined(words, {"--json", "-"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["data"]["images"], 150);
  }
}

TEST_F(Infer, SaysWhatIsWrong) {
  const std::string run = trained();
  std::ofstream(file("bad.onnx")) << "no model";
  std::ofstream(file("bad.safetensors")) << "no weights";
  const auto failure = [&](const Words& words, int code) {
    const ProgramResult result = refused(words);
    EXPECT_EQ(result.exit_code, code) << result.err;
    return result.err;
  };
  EXPECT_THAT(failure({"resnet19", "random:1"}, 2), HasSubstr("resnet18"));
  EXPECT_THAT(failure({"resnet20"}, 2), HasSubstr("name what is shown"));
  EXPECT_THAT(failure({file("bad.onnx"), "random:1"}, 1), HasSubstr("bad.onnx"));
  EXPECT_THAT(failure({file("none.onnx"), "random:1"}, 1), HasSubstr("doesn't exist"));
  EXPECT_THAT(failure({file("bad.safetensors"), "random:1"}, 1), HasSubstr("bad.safetensors"));
  EXPECT_THAT(failure({run, "random:none"}, 2), HasSubstr("random:N"));
  EXPECT_THAT(failure({run, file("nowhere")}, 1), HasSubstr("nowhere"));
  EXPECT_THAT(failure({run, "random:3", "--part", "test"}, 2), HasSubstr("--part"));
  EXPECT_THAT(failure({run, pictures({"2019/a.pgm", "2020/b.pgm"}), "--part", "test"}, 2),
              AllOf(HasSubstr("are no classes that mlp:784-32-10 knows"), HasSubstr("leave out --part")));
  EXPECT_THAT(failure({run, "random:3", "--confidence", "0.5", "--output-type", "logit"}, 2),
              HasSubstr("--confidence"));
  EXPECT_EQ(infer({run, "random:3", "--out", file("out")}).exit_code, 0);
  EXPECT_THAT(failure({run, "random:3", "--out", file("out")}, 2),
              AllOf(HasSubstr("holds a run already"), Not(HasSubstr("--resume"))));
  EXPECT_THAT(failure({run, "random:3", "--out", run, "--overwrite"}, 2), HasSubstr("would remove"));
  EXPECT_THAT(failure({run, "random:3", "--on", "cpu/t1..cpu/t1", "--cut", "nowhere"}, 2), HasSubstr("--cut"));
  EXPECT_THAT(failure({run, "random:3", "--memory", "0.01"}, 2),
              HasSubstr("doesn't fit into the 10 kB that --memory gives each device"));
  EXPECT_THAT(failure({"resnet20", "random:1", "--channel-order", "bgr"}, 2), HasSubstr("--channel-order"));
  EXPECT_THAT(failure({"resnet20", "random:1", "--normalize", "data"}, 2), HasSubstr("--normalize data"));
}

}  // namespace
}  // namespace evener
