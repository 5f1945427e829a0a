// The Open Inference Protocol's rarer words: tensors of every type, several inputs and outputs, classes as bytes,
// pictures for networks of floats, and what each wrong word is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "data/codecs/decode.h"
#include "serve/protocol.h"
#include "serve/serve_helpers.h"

namespace evener::serving {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Work>
std::string refusal_of(const Work& work) {
  try {
    work();
  } catch (const BadRequest& error) {
    return error.what();
  }
  return "(taken)";
}

std::string parse_refusal(const std::string& body, std::optional<std::size_t> json_bytes = {}) {
  return refusal_of([&] { parse_infer_request(body, json_bytes); });
}

/// A request with one input of two values, and `more` after it.
std::string request_with(const std::string& members, const std::string& more = "") {
  return R"({"inputs":[{"name":"input","shape":[1,2],"datatype":"FP32",)" + members + "}]" + more + "}";
}

TEST(ServeWords, ATensorOfEachTypeHasItsBytes) {
  const std::pair<const char*, int> types[] = {{"BOOL", 1}, {"UINT8", 1}, {"UINT16", 2}, {"UINT32", 4}, {"UINT64", 8},
                                               {"INT8", 1}, {"INT16", 2}, {"INT32", 4},  {"INT64", 8},  {"FP16", 2},
                                               {"BF16", 2}, {"FP32", 4},  {"FP64", 8}};
  for (const auto& [type, bytes] : types) {
    const std::string head = std::string(R"({"inputs":[{"name":"x","shape":[2,3],"datatype":")") + type +
                             R"(","parameters":{"binary_data_size":1}}]})";
    EXPECT_EQ(parse_refusal(head + "!", head.size()), std::string("input 'x' of shape 2x3 and type ") + type +
                                                          " needs " + std::to_string(6 * bytes) + " bytes, not 1");
  }
}

TEST(ServeWords, SayWhatEachHasToBe) {
  const char* const wrong[][2] = {
      {R"("data":[1,2],"parameters":[])", "\"parameters\" has to be an object"},
      {R"("data":[1,2],"parameters":{"shared_memory_region":"a"})", "shared memory is not taken"},
      {R"("parameters":{"binary_data_size":-1})", "\"binary_data_size\" has to be a whole number from 0"},
      {R"("data":[1,-1e39])", "too large for a float"},
      {R"("data":["a","b"])", "input 'input' is FP32, but has texts among its data"},
      {R"("data":[1,2,3])", "of shape 1x2 needs 2 values, but has 3"},
      {R"("data":[1,true])", "'true' in it"}};
  for (const auto& [members, message] : wrong) {
    EXPECT_THAT(parse_refusal(request_with(members)), HasSubstr(message)) << members;
  }
  const char* const wrong_outputs[][2] = {
      {R"({"name":"a"})", "\"outputs\" has to be an array"},
      {"[1]", "an output is no object"},
      {"[{}]", "an output has no text as its \"name\""},
      {R"([{"name":"a","parameters":{"shared_memory_region":"a"}}])", "shared memory is not given"},
      {R"([{"name":"a","parameters":{"binary_data":1}}])", "\"binary_data\" has to be true or false"},
      {R"([{"name":"a","parameters":{"classification":-1}}])", "\"classification\" has to be a whole number from 0"}};
  for (const auto& [outputs, message] : wrong_outputs) {
    EXPECT_THAT(parse_refusal(request_with("\"data\":[1,2]", std::string(",\"outputs\":") + outputs)),
                HasSubstr(message));
  }
  EXPECT_THAT(parse_refusal(request_with("\"data\":[1,2]", ",\"id\":7")), HasSubstr("the request has no text as its"));
  EXPECT_THAT(parse_refusal(request_with("\"data\":[1,2]", R"(,"parameters":{"binary_data_output":"yes"})")),
              HasSubstr("\"binary_data_output\" has to be true or false"));
  EXPECT_THAT(parse_refusal(R"({"inputs":{"data":[1]}})"), HasSubstr("no array of \"inputs\""));
  EXPECT_THAT(parse_refusal(R"({"inputs":[]})"), HasSubstr("no array of \"inputs\""));
  EXPECT_THAT(parse_refusal(R"({"inputs":[{"shape":[1],"datatype":"FP32","data":[1]}]})"),
              HasSubstr("an input has no text as its \"name\""));
  EXPECT_THAT(parse_refusal(R"({"inputs":[{"name":"a","shape":[1],"data":[1]}]})"),
              HasSubstr("input 'a' has no text as its \"datatype\""));
  EXPECT_THAT(parse_refusal(R"({"inputs":[{"name":"a","datatype":"FP32","data":[1]}]})"),
              HasSubstr("input 'a' has no \"shape\" of at most 8 extents"));
  EXPECT_THAT(parse_refusal(R"({"inputs":[{"name":"a","datatype":"FP32","shape":[1,1,1,1,1,1,1,1,1],"data":[1]}]})"),
              HasSubstr("has no \"shape\""));
  EXPECT_EQ(parse_refusal(R"({"inputs":[{"name":"a","datatype":"FP32","shape":[1,1,1,1,1,1,1,1],"data":[1]}]})"),
            "(taken)");
  EXPECT_THAT(parse_refusal(R"({"inputs":[{"name":"a","datatype":"BYTES","shape":[1],"data":[1]}]})"),
              HasSubstr("input 'a' is BYTES, but has numbers among its data"));
  EXPECT_EQ(parse_length("0"), 0U);
  EXPECT_EQ(parse_length("73"), 73U);
  EXPECT_THAT(refusal_of([] { parse_length("1 2"); }), HasSubstr("is '1 2'; it has to be a number of bytes"));
}

TEST(ServeWords, EachInputHasItsOwnData) {
  // Arrays named data elsewhere are no tensors.
  const InferRequest request = parse_infer_request(
      R"({"outputs":[{"name":"o","parameters":{"data":[7,8]}}],
          "inputs":[{"name":"a","shape":[3],"datatype":"FP32","data":[1,[2,3]],"parameters":{"x":[9]}},
                    {"name":"b","shape":[2,1],"datatype":"BYTES","data":[["aGk="],["eW91"]]}]})",
      {});
  ASSERT_EQ(request.inputs.size(), 2U);
  EXPECT_THAT(request.inputs[0].numbers, ElementsAre(1, 2, 3));
  EXPECT_EQ(request.inputs[1].name, "b");
  EXPECT_THAT(request.inputs[1].shape, ElementsAre(2, 1));
  EXPECT_THAT(request.inputs[1].numbers, ElementsAre());
  EXPECT_THAT(elements_of_bytes(request.inputs[1]), ElementsAre("hi", "you"));
  EXPECT_FALSE(request.binary_outputs);

  const std::string head =
      R"({"inputs":[{"name":"a","shape":[1],"datatype":"UINT16","parameters":{"binary_data_size":2}},
                    {"name":"b","shape":[1,3],"datatype":"INT8","parameters":{"binary_data_size":3}}]})";
  const std::string body = head + "12345";
  const InferRequest binary = parse_infer_request(body, head.size());
  EXPECT_EQ(binary.inputs[0].binary, "12");
  EXPECT_EQ(binary.inputs[1].binary, "345");
  EXPECT_THAT(refusal_of([&] { samples_of(binary, test::model_of_bytes()); }), HasSubstr(", and nothing else"));
}

TEST(ServeWords, ATextMayBeAsDeepAsThisAndHaveSoManyParts) {
  const auto deep = [](std::size_t arrays) {
    return parse_refusal(request_with("\"data\":" + std::string(arrays, '[') + "1,2" + std::string(arrays, ']')));
  };
  EXPECT_EQ(deep(20), "(taken)");
  EXPECT_THAT(deep(22), HasSubstr("nested more than 24 deep"));
  std::string numbers = "1";
  for (int i = 0; i < 5000; ++i) numbers += ",1";
  EXPECT_EQ(parse_refusal(R"({"inputs":[{"name":"a","shape":[5001],"datatype":"FP32","data":[)" + numbers + "]}]}"),
            "(taken)")
      << "values are no parts";
}

TEST(ServeWords, PicturesBecomeTheFloatsOfANetworkThatTakesThem) {
  ServedModel model = test::model_of_bytes();
  model.is_bytes = false;
  const std::string file = data::encode_png({1, 2, 3}, std::vector<std::uint8_t>{1, 2, 3, 4, 5, 250});
  const inference::SampleValues sample = sample_of_picture(file, model);
  EXPECT_THAT(sample.floats, ElementsAre(1, 2, 3, 4, 5, 250));
  EXPECT_TRUE(sample.bytes.empty());

  SentTensor tensor;
  tensor.name = "input";
  tensor.datatype = "BYTES";
  tensor.shape = {1, 1};
  std::string bytes(4, '\0');
  bytes[0] = static_cast<char>(file.size());
  bytes += file;
  tensor.binary = bytes;
  const auto of_tensor = [&](const ServedModel& asked) {
    InferRequest request;
    request.inputs = {tensor};
    return samples_of(request, asked);
  };
  const auto refusal = [&](const ServedModel& asked) { return refusal_of([&] { of_tensor(asked); }); };
  EXPECT_EQ(of_tensor(model).front().floats, sample.floats);
  EXPECT_THAT(refusal(test::model_of_floats()), HasSubstr("as FP32 of shape [N,4]; this is BYTES of shape [1,1]"));
  tensor.shape = {1, 1, 1};
  EXPECT_THAT(refusal(model), HasSubstr("as FP32 of shape [N,1,2,3], or as BYTES of shape [N]: JPEG, PNG"));
  tensor.shape = {1, 2};
  EXPECT_THAT(refusal(model), HasSubstr("this is BYTES of shape [1,2]"));
  EXPECT_THAT(refusal_of([&] { sample_of_picture(file, test::model_of_floats()); }), HasSubstr("it takes no pictures"));
}

TEST(ServeWords, WrongNumbersOfALaterSampleAreSeen) {
  const auto refusal = [](const std::string& last) {
    const std::string body =
        R"({"inputs":[{"name":"input","shape":[2,1,2,3],"datatype":"UINT8","data":[1,2,3,4,5,6,7,8,9,10,11,)" + last +
        "]}]}";
    return refusal_of([&] { samples_of(parse_infer_request(body, {}), test::model_of_bytes()); });
  };
  EXPECT_EQ(refusal("255"), "(taken)");
  EXPECT_EQ(refusal("0"), "(taken)");
  EXPECT_THAT(refusal("-1"), HasSubstr("-1 is no UINT8: it has to be a whole number from 0 to 255"));
  EXPECT_THAT(refusal("256"), HasSubstr("256 is no UINT8"));
}

/// A served network with the outputs "scores" and "more".
ServedModel model_of_two() {
  ServedModel model = test::model_of_bytes();
  model.outputs.push_back({"more", {3}});
  return model;
}

TEST(ServeWords, AllOutputsAreWantedWhereNoneIsNamed) {
  InferRequest request;
  request.binary_outputs = true;
  const std::vector<WantedOutput> all = wanted_outputs(request, model_of_two());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "scores");
  EXPECT_EQ(all[1].name, "more");
  EXPECT_TRUE(all[0].binary && all[1].binary);
  EXPECT_EQ(all[1].classes, 0U);
  request.outputs = {{.name = "more", .classes = 2}};
  const std::vector<WantedOutput> one = wanted_outputs(request, model_of_two());
  ASSERT_EQ(one.size(), 1U);
  EXPECT_FALSE(one[0].binary) << "as it was asked for";
  EXPECT_EQ(one[0].classes, 2U);
}

TEST(ServeWords, BinaryOutputsFollowInTheirOrder) {
  const HostTensor scores = HostTensor::of_floats({2, 2}, {0.5F, -1, 3, 2}),
                   more = HostTensor::of_floats({2, 1}, {8, INFINITY});
  const std::vector<ToldOutput> told = {{{.name = "scores", .binary = true, .classes = 5}, &scores},
                                        {{.name = "more"}, &more},
                                        {{.name = "more", .binary = true}, &more}};
  const InferAnswer answer = write_infer_answer("m\"", "", told, {"a", "b"});
  ASSERT_TRUE(answer.json_bytes);
  const json head = json::parse(answer.body.substr(0, *answer.json_bytes));
  EXPECT_EQ(head, json::parse(R"({"model_name": "m\"", "model_version": "1", "outputs": [
      {"name": "scores", "datatype": "BYTES", "shape": [2, 2], "parameters": {"binary_data_size": 39}},
      {"name": "more", "datatype": "FP32", "shape": [2, 1], "data": [8, null]},
      {"name": "more", "datatype": "FP32", "shape": [2, 1], "parameters": {"binary_data_size": 8}}]})"))
      << "no more classes than there are";
  const std::string tail = answer.body.substr(*answer.json_bytes);
  ASSERT_EQ(tail.size(), 47U);
  SentTensor texts;
  texts.shape = {2, 2};
  texts.binary = std::string_view(tail).substr(0, 39);
  EXPECT_THAT(elements_of_bytes(texts), ElementsAre("0.5:0:a", "-1:1:b", "3:0:a", "2:1:b"));
  EXPECT_EQ(std::memcmp(tail.data() + 39, more.floats(), 8), 0);
}

}  // namespace
}  // namespace evener::serving
