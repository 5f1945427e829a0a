// Calibrated probabilities and unknown images, from the training that makes them to all that tells them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "base/csv.h"
#include "base/files.h"
#include "base/folder_lock.h"
#include "base/http_client.h"
#include "base/random.h"
#include "support/in_process_helpers.h"
#include "support/infer_helpers.h"
#include "support/trained_once_helpers.h"

namespace evener::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Calibrate : public Infer {
 protected:
  /// A network that tells ten digits apart, calibrated on 100 of 500.
  std::string calibrated() const {
    trained_once("digits-calibrated",
                 {"train", "mlp:784-32-10", "--data", "synth:digits:500", "--split", "60/20/20", "--batch", "16",
                  "--epochs", "3", "--on", "cpu/t1"},
                 file("run"));
    return file("run");
  }

  /// A folder of pictures that are noise and nothing else.
  std::string noise() const {
    fs::create_directories(folder_ / "noise");
    Random random(5, Purpose::kSynthetic);
    for (int i = 0; i < 8; ++i) {
      std::string pixels(784, '\0');
      for (char& pixel : pixels) pixel = static_cast<char>(random.below(256));
      std::ofstream(folder_ / "noise" / (std::to_string(i) + ".pgm"), std::ios::binary) << "P5\n28 28\n255\n" << pixels;
    }
    return file("noise");
  }

  ProgramResult calibrate(const Words& words) const { return run_program(joined({"calibrate"}, words), options()); }
  ProgramResult refused_calibration(const Words& words) const {
    return run_in_process(joined({"calibrate"}, words), options());
  }

  /// The rows of predictions that were told as CSV, without their heading.
  std::vector<std::vector<std::string>> rows(const Words& words) const {
    const ProgramResult result = infer(joined(words, {"--format", "csv", "--on", "cpu/t1"}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::istringstream text(result.out);
    CsvReader reader(text);
    std::vector<std::vector<std::string>> all;
    while (reader.next()) all.push_back(reader.cells());
    return all;
  }
};

TEST_F(Calibrate, ATrainingDoesItAtItsEnd) {
  const std::string run = calibrated();
  EXPECT_TRUE(fs::exists(fs::path(run) / "best.calibration.safetensors"));
  const json record = record_in(run);
  const json& metrics = record["metrics"];
  EXPECT_GT(metrics["temperature"]["value"].get<double>(), 0);
  EXPECT_EQ(metrics["ece"]["of_images"], 100);  // of the test part
  EXPECT_GT(metrics["ece_by_chance"]["value"].get<double>(), 0);
  EXPECT_TRUE(metrics.contains("uncalibrated_ece"));
  EXPECT_LT(metrics["known_called_unknown"]["value"].get<double>(), 0.2);
  EXPECT_THAT(record["notes"].dump(), HasSubstr("probabilities are calibrated by temperature"));
  const json told = json::parse(read_file(fs::path(run) / "calibration.json"));
  EXPECT_EQ(told["judged"], "test part");
  EXPECT_EQ(told["fitted_images"], 100);
  EXPECT_EQ(told["statistics_images"], 300);
  EXPECT_EQ(told["before"]["bins"].size(), 15U);
  const ProgramResult page = run_program({"report", run, "--html", file("page.html")}, options());
  EXPECT_EQ(page.exit_code, 0) << page.err;
  EXPECT_THAT(read_file(file("page.html")),
              AllOf(HasSubstr("How far its probabilities hold"), HasSubstr("Reliability"),
                    HasSubstr(" % (a perfect one: up to "), HasSubstr("\"by_chance\":[")));
}

TEST_F(Calibrate, TheCommandFindsWhatTheTrainingFound) {
  const std::string run = calibrated();
  const json before = json::parse(read_file(fs::path(run) / "calibration.json"));
  const ProgramResult result = calibrate({run, "--json", "-", "--unlike", noise(), "--on", "cpu/t1"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json found = json::parse(result.out);
  // The same images through the same engine, in other batches perhaps.
  EXPECT_NEAR(found["temperature"].get<double>(), before["temperature"].get<double>(), 1e-3);
  EXPECT_NEAR(found["after"]["ece"].get<double>(), before["after"]["ece"].get<double>(), 1e-3);
  EXPECT_EQ(found["unlike"]["images"], 8);
  EXPECT_GT(found["unlike"]["auroc"].get<double>(), 0.9);
  EXPECT_EQ(found["unlike"]["unknown_share"], 1);
  EXPECT_EQ(record_in(run)["metrics"]["unlike_called_unknown"]["value"], 1);
  const ProgramResult again = calibrate({run, "--unknown", "0", "--quiet"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("temperature"), HasSubstr(" % (a perfectly calibrated network: up to "),
                               HasSubstr("--unknown 0 asks for that"), HasSubstr("best.calibration.safetensors")));
  EXPECT_FALSE(record_in(run)["metrics"].contains("unlike_called_unknown"));
  EXPECT_EQ(rows({run, noise()}).front().size(), 5U);
  ASSERT_EQ(calibrate({run, "--unknown", "0", "--on", "cpu/t1"}).exit_code, 0);
  const std::string notes = record_in(run)["notes"].dump();
  EXPECT_EQ(notes.find("probabilities are calibrated"), notes.rfind("probabilities are calibrated")) << notes;
  EXPECT_THAT(notes, AllOf(HasSubstr("nothing is called unknown"), Not(HasSubstr("unknown is called what")),
                           Not(HasSubstr("AUROC"))));
}

TEST_F(Calibrate, InferTellsWhatIsUnknown) {
  const std::string run = calibrated();
  const auto strange = rows({run, noise()}), raw = rows({run, noise(), "--uncalibrated"});
  const auto heading = [&](const Words& more) {
    return lines_of(infer(joined({run, noise(), "--format", "csv"}, more)).out).front();
  };
  EXPECT_EQ(heading({}), "file,rank,class_index,class_name,probability,unknown");
  EXPECT_EQ(heading({"--uncalibrated"}), "file,rank,class_index,class_name,probability");
  ASSERT_EQ(strange.size(), raw.size());
  for (std::size_t i = 0; i < strange.size(); ++i) EXPECT_GT(std::stod(strange[i].at(5)), 1);
  const ProgramResult known = infer({run, "--json", "-", "--seconds", "0"});
  EXPECT_LT(json::parse(known.out)["metrics"]["called_unknown"]["value"].get<double>(), 0.2);
  const ProgramResult table = infer({run, noise(), "--topk", "1"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("0.pgm  unknown: "), HasSubstr("8 of 8 images")));
  const ProgramResult lines = infer({run, noise(), "--format", "jsonl"});
  EXPECT_GT(json::parse(lines_of(lines.out).front())["unknown"].get<double>(), 1);
}

TEST_F(Calibrate, ProbabilitiesAreThoseOfTheTemperature) {
  const std::string run = calibrated(), unlike = noise();
  const double temperature = record_in(run)["metrics"]["temperature"]["value"].get<double>();
  const Words words = {run, unlike, "--output-type", "logit", "--topk", "10"};
  const auto with = rows(words), without = rows(joined(words, {"--uncalibrated"}));
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    EXPECT_EQ(with[i][3], without[i][3]);
    EXPECT_NEAR(std::stod(with[i][4]) * temperature, std::stod(without[i][4]),
                1e-4 * std::abs(std::stod(without[i][4])) + 1e-5);
  }
}

TEST_F(Calibrate, SortsUnknownPhotosAside) {
  const ProgramResult result = infer({calibrated(), noise(), "--sort", file("sorted")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("8 into unknown"));
  EXPECT_TRUE(fs::exists(fs::path(file("sorted")) / "unknown" / "3.pgm"));
}

TEST_F(Calibrate, AnExportedFileSaysTheSame) {
  if (!module_is_built("onnx")) GTEST_SKIP() << "the module 'onnx' is not built";
  const std::string run = calibrated(), onnx = file("digits.onnx");
  const ProgramResult exported = run_program({"export", run, "--onnx", onnx, "--normalize-inside"}, options());
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("the output 'unknown' is above 1"));
  for (const std::string& shown : {noise(), std::string("synth:digits:40")}) {
    const auto ours = rows({run, shown, "--topk", "3"}), theirs = rows({onnx, shown, "--topk", "3"});
    ASSERT_EQ(ours.size(), theirs.size());
    ASSERT_GT(ours.size(), 8U);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(ours[i][3], theirs[i][3]);
      EXPECT_NEAR(std::stod(ours[i][4]), std::stod(theirs[i][4]), 1e-4);
      EXPECT_NEAR(std::stod(ours[i][5]), std::stod(theirs[i].at(5)), 2e-3 * std::stod(ours[i][5]));
    }
  }
  const ProgramResult raw = run_program({"export", run, "--onnx", onnx, "--overwrite", "--uncalibrated"}, options());
  EXPECT_EQ(raw.err, "");
  EXPECT_EQ(rows({onnx, noise()}).front().size(), 5U);
}

TEST_F(Calibrate, AServerTellsIt) {
  if (!module_is_built("http")) GTEST_SKIP() << "the module for HTTP is not built";
  const std::string run = calibrated(), picture = noise() + "/0.pgm";
  RunningProgram program(program_path(), {"serve", run, "--port", "0", "--name", "digits", "--on", "cpu/t1"},
                         options());
  ASSERT_TRUE(program.wait_for("; Ctrl-C ends it")) << program.err();
  const std::string address = "http://127.0.0.1:", out = program.out();
  HttpClient client(std::stoi(out.substr(out.find(address) + address.size())));
  const json facts = json::parse(client.get("/v2/models/digits").body);
  ASSERT_EQ(facts["outputs"].size(), 2U) << facts;
  EXPECT_EQ(facts["outputs"][1]["name"], "unknown");
  const HttpAnswer answer =
      client.post("/v2/models/digits/infer", read_file(picture), {{"Content-Type", "image/x-portable-graymap"}});
  ASSERT_EQ(answer.status, 200) << answer.body;
  const json outputs = json::parse(answer.body)["outputs"];
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[1]["name"], "unknown");
  const auto told = rows({run, picture});
  EXPECT_NEAR(outputs[1]["data"][0].get<double>(), std::stod(told[0].at(5)), 1e-3 * std::stod(told[0][5]));
  program.send(SIGINT);
  EXPECT_EQ(program.finish().exit_code, 0);
}

TEST_F(Calibrate, AFileOfAnotherProgramGetsATemperature) {
  if (!module_is_built("onnx")) GTEST_SKIP() << "the module 'onnx' is not built";
  const std::string run = calibrated(), onnx = file("digits.onnx");
  const Words without = {"export", run, "--onnx", onnx, "--normalize-inside", "--uncalibrated"};
  ASSERT_EQ(run_program(without, options()).exit_code, 0);
  const ProgramResult result = calibrate({onnx, "--data", "synth:digits:500", "--split", "60/20/20", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json found = json::parse(result.out);
  EXPECT_NEAR(found["temperature"].get<double>(), record_in(run)["metrics"]["temperature"]["value"].get<double>(),
              1e-2);
  EXPECT_THAT(found["no_unknown"].get<std::string>(), HasSubstr("gives no features"));
  const auto ours = rows({run, noise()}), theirs = rows({onnx, noise()});
  EXPECT_NEAR(std::stod(ours[1][4]), std::stod(theirs[1][4]), 1e-2);
}

TEST_F(Calibrate, AQuantizedNetworkIsCalibratedAnew) {
  if (!module_is_built("torch")) GTEST_SKIP() << "torch is not built";
  const std::string run = calibrated(), int8 = file("int8");
  const Words quantize = {"quantize", "--seconds", "0.05", "--on", "cpu/t1", "--out"};
  const ProgramResult result = run_program(joined(quantize, {int8, run}), options());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("probabilities are calibrated by temperature"));
  EXPECT_THAT(record_in(int8)["notes"].dump(), HasSubstr("in float the temperature is"));
  const json figures = json::parse(read_file(fs::path(int8) / "calibration.json"));
  EXPECT_EQ(figures["statistics_images"], 300);
  EXPECT_EQ(figures["judged"], "test part");
  EXPECT_EQ(record_in(int8)["metrics"]["temperature"]["value"], figures["temperature"]);
  EXPECT_LT(figures["known_unknown"].get<double>(), 0.2);
  const auto strange = rows({int8, noise()});
  for (const auto& row : strange) EXPECT_GT(std::stod(row.at(5)), 1) << row[0];
  // Without labels there is nothing to fit to.
  const ProgramResult kept = run_program(joined(quantize, {file("kept"), run, "--data", noise()}), options());
  ASSERT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.err, AllOf(HasSubstr("is kept; nothing is called unknown"), HasSubstr("evener calibrate")));
  EXPECT_EQ(rows({file("kept"), noise()}).front().size(), 5U);
  const Words logits = {noise(), "--output-type", "logit"};
  const auto with = rows(joined({file("kept")}, logits)),
             without = rows(joined({file("kept"), "--uncalibrated"}, logits));
  const double temperature = record_in(run)["metrics"]["temperature"]["value"].get<double>();
  EXPECT_NEAR(std::stod(with[1][4]) * temperature, std::stod(without[1][4]), 1e-3);
}

TEST_F(Calibrate, SharedPagesShowWhereACalibratedNetworkLooked) {
  if (!module_is_built("torch")) GTEST_SKIP() << "torch is not built";
  const std::string run = file("run");
  trained_once("digits-resnet-calibrated",
               {"train", "resnet20", "--data", "synth:digits:200", "--size", "16x16", "--split", "60/20/20", "--batch",
                "16", "--epochs", "1", "--on", "cpu/t1"},
               run);
  ASSERT_TRUE(fs::exists(fs::path(run) / "best.calibration.safetensors"));
  const ProgramResult result = run_program({"share", run}, options());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(read_file(fs::path(run) / "share" / "answers.json"), HasSubstr("\"map\""));
}

TEST_F(Calibrate, TrainingsLeaveItOutWhereAskedAndWhereImagesAreFew) {
  const Words train = {"train", "mlp:784-8-10", "--epochs", "1", "--on", "cpu/t1", "--quiet"};
  const auto files_of = [&](const std::string& name, const Words& more) {
    const ProgramResult result = run_program(joined(joined(train, more), {"--out", file(name)}), options());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return fs::exists(fs::path(file(name)) / "best.calibration.safetensors");
  };
  const Words many = {"--data", "synth:digits:200", "--split", "60/20/20"};
  EXPECT_TRUE(files_of("a", many));
  EXPECT_FALSE(files_of("b", joined(many, {"--no-calibration"})));
  EXPECT_FALSE(files_of("c", {"--data", "synth:digits:200", "--split", "80/10/10"}));
  const std::string notes = record_in(file("c"))["notes"].dump(), way_out = "--split 75/15/10 gives 30";
  EXPECT_THAT(notes, AllOf(HasSubstr("the probabilities are not calibrated: a calibration takes 30"),
                           HasSubstr("there are 20: " + way_out)));
  EXPECT_THAT(refused_calibration({file("c")}).err, HasSubstr("or train on this data anew: " + way_out));
  EXPECT_TRUE(files_of("e", {"--data", "synth:digits:200", "--split", "75/15/10"}));
  EXPECT_TRUE(files_of("d", joined(many, {"--unknown", "0"})));
  EXPECT_EQ(rows({file("d"), noise()}).front().size(), 5U);
}

TEST_F(Calibrate, RefusesWhatCantBeCalibrated) {
  const std::string run = calibrated();
  EXPECT_THAT(refused_calibration({"mlp:784-8-10", "--data", "synth:digits:500"}).err, HasSubstr("no weights"));
  EXPECT_THAT(refused_calibration({run, "--data", "synth:digits:100", "--split", "80/10/10"}).err,
              HasSubstr("30 or more images to validate on"));
  EXPECT_THAT(refused_calibration({run, "--data", "synth:masks:200"}).err, HasSubstr("classes"));
  EXPECT_THAT(refused_calibration({run, "--unknown", "0.7"}).err, HasSubstr("--unknown"));
  EXPECT_THAT(refused_calibration({run, "--unlike", file("nowhere")}).err, HasSubstr("nowhere"));
  EXPECT_THAT(refused_calibration({run, "--images", "3"}).err, HasSubstr("--images"));
  const FolderLock lock(run);
  EXPECT_THAT(calibrate({run}).err, HasSubstr("another process writes to"));
}

}  // namespace
}  // namespace evener::test
