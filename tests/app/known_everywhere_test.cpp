// What a file is, each command that reads it understands alike: size, fitting, normalisation, order of channels and
// classes. One test for each kind of file.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/built_modules.h"
#include "base/files.h"
#include "base/http_client.h"
#include "data/npy.h"
#include "engine/detector_file.h"
#include "support/in_process_helpers.h"
#include "support/infer_helpers.h"
#include "support/trained_once_helpers.h"

namespace evener::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class KnownEverywhere : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"openvino", "http"}) {
      if (!module_is_built(name)) GTEST_SKIP() << "the module " << name << " is not built";
    }
    std::filesystem::create_directories(folder_ / "photos");
    write_text(folder_ / "names.txt", "cat\ndog\n");
    for (const auto& [name, width, grey] : {std::tuple("dark.pgm", 96, '\x10'), std::tuple("wide.pgm", 128, '\xC8')}) {
      std::ofstream(folder_ / "photos" / name, std::ios::binary)
          << "P5\n"
          << width << " 64\n255\n"
          << std::string(static_cast<std::size_t>(width) * 64, grey);
    }
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  ProgramResult run(const Words& words) const { return run_in_process(words, options_); }

  const TemporaryFolder folder_;
  const ProgramOptions options_ = {.environment = {{"XDG_CACHE_HOME", file("cache")}}};
};

/// The outputs of an answer by their names.
std::map<std::string, json> outputs_in(const HttpAnswer& answer) {
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::map<std::string, json> outputs;
  const json told = json::parse(answer.body);
  for (const json& output : told.value("outputs", json::array())) outputs[output["name"]] = output;
  return outputs;
}

/// What a server says of pictures, by themselves and together, and of values: the boxes that `evener detect` tells of
/// the wide one, and none of the dark one.
void expect_boxes_served(HttpClient& client, const std::string& photos, const json& wide, float raw) {
  const std::string address = "/v2/models/m/infer";
  const json facts = json::parse(client.get("/v2/models/m").body);
  EXPECT_EQ(facts["outputs"][1], json::parse(R"({"name": "det_boxes", "datatype": "FP32", "shape": [-1, -1, 4]})"));
  EXPECT_EQ(facts["outputs"][4], json::parse(R"({"name": "det_names", "datatype": "BYTES", "shape": [-1, -1]})"));
  auto told = outputs_in(client.post(address, read_file(photos + "/wide.pgm")));
  EXPECT_EQ(told.size(), 5U) << "and not the long table that they are read from";
  EXPECT_EQ(told["num_dets"]["data"], json({1}));
  EXPECT_EQ(told["num_dets"]["datatype"], "INT32");
  EXPECT_EQ(told["det_boxes"]["shape"], json({1, 1, 4}));
  EXPECT_EQ(told["det_boxes"]["data"], wide["box"]);
  EXPECT_EQ(told["det_scores"]["data"], json({wide["score"]}));
  EXPECT_EQ(told["det_classes"]["data"], json({wide["index"]}));
  EXPECT_EQ(told["det_names"]["data"], json({wide["class"]}));
  EXPECT_THAT(client.post(address + "?classification=1", read_file(photos + "/wide.pgm")).body,
              HasSubstr("finds boxes, not one class"));

  std::string files;
  for (const char* name : {"dark.pgm", "wide.pgm"}) {
    const std::string content = read_file(photos + "/" + name);
    const auto size = static_cast<std::uint32_t>(content.size());
    files.append(reinterpret_cast<const char*>(&size), sizeof size) += content;
  }
  const std::string both =
      json{
          {"inputs",
           {{{"name", "input"},
             {"datatype", "BYTES"},
             {"shape", {2}},
             {"parameters", {{"binary_data_size", files.size()}}}}}},
          {"outputs", {{{"name", "num_dets"}}, {{"name", "det_boxes"}}, {{"name", "det_names"}}, {{"name", "output"}}}}}
          .dump();
  told = outputs_in(
      client.post(address, both + files, {{"Inference-Header-Content-Length", std::to_string(both.size())}}));
  EXPECT_EQ(told["num_dets"]["data"], json({0, 1}));
  EXPECT_EQ(told["det_boxes"]["shape"], json({2, 1, 4}));
  const json& box = wide["box"];
  EXPECT_EQ(told["det_boxes"]["data"], json({0, 0, 0, 0, box[0], box[1], box[2], box[3]}));
  EXPECT_EQ(told["det_names"]["data"], json({"", wide["class"]}));
  EXPECT_EQ(told["output"]["data"].at(84 * 7 + kObjectness).get<float>(), raw);

  // The network's own image: boxes are in its pixels.
  const json values = {{"inputs",
                        {{{"name", "input"},
                          {"datatype", "UINT8"},
                          {"shape", {1, 3, 64, 64}},
                          {"data", std::vector<int>(std::size_t{3} * 64 * 64, 255)}}}}};
  told = outputs_in(client.post(address, values.dump()));
  EXPECT_EQ(told["num_dets"]["data"], json({1}));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(told["det_boxes"]["data"].at(i).get<double>(), box[i].get<double>() / 2, 1e-3);
  }
}

TEST_F(KnownEverywhere, AForeignDetector) {
  write_yolox_file(folder_ / "m.xml");
  const std::string photos = file("photos"), wide = photos + "/wide.pgm";
  const Words named = {"--labels", file("names.txt")};
  const std::string understood =
      "YOLOX, 2 classes, whole images in the upper left corner of 64x64, on grey 114, 0 to 255, BGR";
  const ProgramResult quantized = run({"quantize", file("m.xml"), "--data", photos, "--out", file("int8"), "--on",
                                       "cpu/t1", "--seconds", "0.01", "--decoder", "yolox"});
  ASSERT_EQ(quantized.exit_code, 0) << quantized.err;
  for (const std::string& model : {file("m.xml"), file("int8")}) {
    const json info = json::parse(run({"info", model, "--json", "-"}).out);
    EXPECT_EQ(info["detector"], understood);

    const ProgramResult detected =
        run(joined({"detect", model, wide, "--format", "jsonl", "--on", "cpu/t1", "--out", model + "-detect"}, named));
    EXPECT_THAT(detected.err, HasSubstr("understood as " + understood));
    const json boxes = json::parse(detected.out)["detections"];
    ASSERT_EQ(boxes.size(), 1U) << detected.out;
    EXPECT_EQ(boxes[0]["class"], "dog");
    // It fills the upper half; beside it is grey 114. Stretched, or its middle alone, it would be all there is. The
    // range of int8 is the mean of the two pictures' brightest pixels.
    const double brightest = model == file("int8") ? (200.0 + 114) / 2 : 200;
    EXPECT_NEAR(boxes[0]["score"].get<double>(), (brightest + 114) / 2 / 255, 0.01);

    const ProgramResult inferred =
        run({"infer", model, wide, "--outputs", "raw", "--on", "cpu/t1", "--out", model + "-infer"});
    EXPECT_THAT(inferred.err, HasSubstr("seen are whole images in the upper left corner of 64x64, on grey 114"));
    const auto raw = data::read_npy(model + "-infer/output.npy");
    float objectness = 0;
    std::memcpy(&objectness, raw.bytes.data() + kObjectness * sizeof(float), sizeof(float));
    EXPECT_EQ(objectness, boxes[0]["score"].get<float>()) << "as detect sees it";
    for (const char* key : {"mean", "standard-deviation", "channel-order"}) {
      EXPECT_EQ(record_in(model + "-infer")["config"][key], record_in(model + "-detect")["config"][key]) << key;
    }
    for (const char* command : {"infer", "calibrate"}) {
      const Words data = command == std::string("infer") ? Words{wide} : Words{"--data", photos};
      EXPECT_THAT(run(joined({command, model}, data)).err, HasSubstr("finds boxes, not one class"));
    }

    RunningProgram server(program_path(),
                          joined({"serve", model, "--port", "0", "--name", "m", "--on", "cpu/t1"}, named), options_);
    const int port = port_told(server);
    ASSERT_NE(port, 0) << server.err();
    EXPECT_THAT(server.err(), HasSubstr("understood as " + understood));
    HttpClient client(port);
    expect_boxes_served(client, photos, boxes[0], objectness);
    server.send(SIGINT);
    EXPECT_EQ(server.finish().exit_code, 0);
  }
  EXPECT_THAT(run({"serve", file("m.xml"), "--decoder", "detr", "--port", "0"}).err, HasSubstr("--decoder detr"));
  EXPECT_THAT(run({"export", file("int8"), "--onnx", file("x.onnx")}).err, HasSubstr("holds quantized.xml"));
  write_table_file(folder_ / "none.xml", 7, 33, std::vector<float>(7 * 33), std::vector<float>(7 * 33));
  EXPECT_THAT(run({"serve", file("none.xml"), "--confidence", "0.5", "--port", "0"}).err,
              HasSubstr("--confidence is for detectors, and 'none.xml' is none: 'none.xml' is no detector that is"));
}

/// The first line that `evener infer` tells of a picture in JSON.
json answer_of(const ProgramResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return json::parse(result.out.substr(0, result.out.find('\n')));
}

// A calibrated run and the int8 network that is made of it: probabilities and what is unknown are the same for each
// command that reads them, and so are the run's data.
TEST_F(KnownEverywhere, ACalibratedRunAndItsInt8) {
  if (!module_is_built("torch") || !module_is_built("onnx")) GTEST_SKIP() << "torch or onnx is not built";
  trained_once("digits-resnet-calibrated",
               {"train", "resnet20", "--data", "synth:digits:200", "--size", "16x16", "--split", "60/20/20", "--batch",
                "16", "--epochs", "1", "--on", "cpu/t1"},
               file("run"));
  ASSERT_EQ(run({"quantize", file("run"), "--seconds", "0.01", "--on", "cpu/t1", "--out", file("int8")}).exit_code, 0);
  std::string noise;
  for (int n = 0; n < 256; ++n) noise += static_cast<char>(37 * n * n % 251);
  write_text(folder_ / "noise.pgm", "P5\n16 16\n255\n" + noise);
  const auto infer = [&](const std::string& model, const Words& more) {
    return answer_of(
        run(joined({"infer", model, file("noise.pgm"), "--format", "jsonl", "--topk", "1", "--on", "cpu/t1"}, more)));
  };
  for (const std::string& model : {file("run"), file("int8")}) {
    SCOPED_TRACE(model);
    const json told = infer(model, {}), plain = infer(model, {"--uncalibrated"});
    const double probability = told["predictions"][0]["probability"], unknown = told["unknown"];
    EXPECT_NE(probability, plain["predictions"][0]["probability"].get<double>());
    EXPECT_FALSE(plain.contains("unknown"));

    const ProgramResult exported = run({"export", model, "--onnx", model + ".onnx"});
    EXPECT_EQ(exported.exit_code, 0) << exported.out << exported.err;
    EXPECT_THAT(exported.out + exported.err, HasSubstr("of 16 images of the run's data; the same class of 16"));
    const json of_file = infer(model + ".onnx", {});
    EXPECT_NEAR(of_file["predictions"][0]["probability"].get<double>(), probability, 1e-4);
    EXPECT_NEAR(of_file["unknown"].get<double>(), unknown, 1e-3 * unknown);

    const json info = json::parse(run({"info", model, "--json", "-"}).out);
    EXPECT_EQ(info["input"], json({1, 16, 16}));
    EXPECT_EQ(run({"data", "labels", model, "--out", model + "-labels"}).exit_code, 0);
    const ProgramResult again = run({"calibrate", model, "--on", "cpu/t1"});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_NEAR(infer(model, {})["predictions"][0]["probability"].get<double>(), probability, 1e-4) << "as before";

    RunningProgram server(program_path(), {"serve", model, "--port", "0", "--name", "m", "--on", "cpu/t1"}, options_);
    const int port = port_told(server);
    ASSERT_NE(port, 0) << server.err();
    HttpClient client(port);
    auto served = outputs_in(client.post("/v2/models/m/infer", read_file(file("noise.pgm"))));
    EXPECT_NEAR(served["unknown"]["data"].at(0).get<double>(), unknown, 1e-3 * unknown);
    server.send(SIGINT);
    EXPECT_EQ(server.finish().exit_code, 0);
  }
}

/// What `evener train --dry-run` and `evener plan` say of the training that the words are for.
std::string work_in(const std::string& text) {
  const std::size_t at = text.find("resnet20, ");
  return text.substr(at, text.find(" images to train on", at) - at);
}

TEST_F(KnownEverywhere, DefaultsOfFineTuning) {
  if (!module_is_built("torch")) GTEST_SKIP() << "torch is not built";
  trained_once("digits-resnet-calibrated",
               {"train", "resnet20", "--data", "synth:digits:200", "--size", "16x16", "--split", "60/20/20", "--batch",
                "16", "--epochs", "1", "--on", "cpu/t1"},
               file("run"));
  const Words words = {"resnet20", "--weights", file("run"), "--data", "synth:digits:400", "--on", "cpu/t1"};
  const ProgramResult trained = run(joined({"train", "--dry-run"}, words));
  const ProgramResult planned = run(joined({"plan", "--seconds", "0.5"}, words));
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(trained.out, HasSubstr("activations of 12 images at once"));
  EXPECT_THAT(planned.out, HasSubstr("; batch 12, "));
  EXPECT_EQ(work_in(planned.out), work_in(trained.out));
  // What makes no difference to a plan is taken, too: the words are those of the training.
  for (const Words& more : {Words{"--unknown", "0.02"}, Words{"--no-calibration"}}) {
    EXPECT_EQ(work_in(run(joined({"plan", "--seconds", "0.1"}, joined(words, more))).out), work_in(trained.out));
  }
  const ProgramResult predicted =
      run(joined({"sweep", "train", "--predict", "--dry-run", "--out", file("sweep")}, words));
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
}

}  // namespace
}  // namespace evener::test
