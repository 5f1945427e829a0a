// The restricted unpickler: what it reads, what it refuses, and that hostile pickles end quickly.
#include "weights/pickle.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace evener::weights::pickle {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::string_view kAllowed[] = {"torch.FloatStorage"};

std::string refusal(const std::string& bytes) {
  try {
    parse(bytes, kAllowed);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

std::string times(std::size_t count, const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

// {'a': (1, -2, 300, True, None), 'b': [2.5, 'x']}, protocol 2
const std::string kPlain =
    "\x80\x02}q\x00(X\x01\x00\x00\x00"
    "a(K\x01J\xfe\xff\xff\xffM\x2c\x01\x88Ntq\x01X\x01\x00\x00\x00"
    "b]q\x02(G\x40\x04\x00\x00\x00\x00\x00\x00U\x01xeu."s;

TEST(Pickle, ReadsPlainValuesAndContainers) {
  const std::string bytes = kPlain + "more";
  const Pickle pickle = parse(bytes, {});
  EXPECT_EQ(pickle.size, kPlain.size());
  const Value& dict = pickle[pickle.root];
  ASSERT_EQ(dict.kind, Kind::kDict);
  const Value* tuple = pickle.find(dict, "a");
  ASSERT_TRUE(tuple != nullptr && tuple->kind == Kind::kTuple && tuple->items.size() == 5);
  EXPECT_EQ(pickle[tuple->items[0]].integer, 1);
  EXPECT_EQ(pickle[tuple->items[1]].integer, -2);
  EXPECT_EQ(pickle[tuple->items[2]].integer, 300);
  EXPECT_EQ(pickle[tuple->items[3]].kind, Kind::kBool);
  EXPECT_EQ(pickle[tuple->items[4]].kind, Kind::kNone);
  const Value* list = pickle.find(dict, "b");
  ASSERT_TRUE(list != nullptr && list->kind == Kind::kList && list->items.size() == 2);
  EXPECT_EQ(pickle[list->items[0]].number, 2.5);
  EXPECT_EQ(pickle[list->items[1]].text, "x");
  EXPECT_EQ(pickle.find(dict, "c"), nullptr);
}

TEST(Pickle, WholeNumbersOfAnyLength) {
  const auto number = [](const std::string& bytes) {
    const Pickle pickle = parse(bytes, {});
    return pickle[pickle.root].integer;
  };
  EXPECT_EQ(number("\x80\x02\x8a\x00."s), 0);
  EXPECT_EQ(number("\x80\x02\x8a\x02\x00\x80."s), -32768);
  EXPECT_EQ(number("\x80\x02\x8a\x05\xff\xff\xff\xff\x00."s), 0xffffffffLL);
  const Pickle big = parse("\x80\x02\x8a\x09\x01\x02\x03\x04\x05\x06\x07\x08\x09."s, {});
  EXPECT_EQ(big[big.root].kind, Kind::kLong);
}

TEST(Pickle, OrderedDictsAreDictsAndTheirStateIsPassedOver) {
  const std::string python3 = "\x80\x02"s + "ccollections\nOrderedDict\n)R(X\x01\x00\x00\x00"s + "aK\x01u}b."s;
  const std::string python2 = "\x80\x02"s + "ccollections\nOrderedDict\n(](](U\x01"s + "aK\x01"s + "eetR."s;
  for (const std::string& bytes : {python3, python2}) {
    const Pickle pickle = parse(bytes, {});
    ASSERT_EQ(pickle[pickle.root].kind, Kind::kDict);
    ASSERT_NE(pickle.find(pickle[pickle.root], "a"), nullptr);
    EXPECT_EQ(pickle.find(pickle[pickle.root], "a")->integer, 1);
  }
}

TEST(Pickle, AContainerMayHoldItself) {
  const Pickle pickle = parse("\x80\x02]q\x00h\x00"s + "a."s, {});
  EXPECT_EQ(pickle[pickle.root].items, std::vector<Ref>{pickle.root});
}

TEST(Pickle, WhatIsMadeByOtherNamesHasNoContent) {
  const auto root = [](const std::string& bytes) {
    const Pickle pickle = parse(bytes, kAllowed);
    const Value& value = pickle[pickle.root];
    EXPECT_EQ(pickle.foreign_names.size(), 1U);
    EXPECT_TRUE(value.items.empty());
    return value.kind == Kind::kForeign ? std::string(value.text) : "";
  };
  const std::string start = "\x80\x02"s;
  EXPECT_EQ(root(start + "cos\nsystem\nU\x04"s + "echo\x85R."s), "os.system");
  EXPECT_EQ(root("\x80\x04\x8c\x08"s + "builtins\x8c\x04"s + "eval\x93."s), "builtins.eval");
  EXPECT_EQ(root(start + "cargparse\nNamespace\n)\x81}U\x02"s + "lrK\x01sb."s), "argparse.Namespace") << "attributes";
  EXPECT_EQ(root(start + "ccollections\nCounter\n}K\x1eK\x01s\x85R."s), "collections.Counter");
  EXPECT_EQ(root(start + "cmine\nDict\n)R(U\x01"s + "aK\x01u."s), "mine.Dict") << "items of a subclass of dict";
  EXPECT_EQ(root(start + "cmine\nList\n)\x81(K\x01K\x02"s + "e."s), "mine.List");
  EXPECT_EQ(root("\x80\x04"s + "cmine\nNamed\n)}\x92."s), "mine.Named") << "arguments by name";
  EXPECT_EQ(root(start + "cmine\nf\n)R(K\x01tR."s), "mine.f") << "what a foreign call gave is called";
}

TEST(Pickle, SetsAndBytesOfNewerProtocols) {
  const std::string bytes = "\x80\x05(\x8f(K\x01K\x02\x90(K\x03\x91"s + "C\x02\x00\xff"s + "B\x01\x00\x00\x00z"s +
                            "\x8e\x01\x00\x00\x00\x00\x00\x00\x00y"s + "\x96\x00\x00\x00\x00\x00\x00\x00\x00t."s;
  const Pickle pickle = parse(bytes, {});
  const std::vector<Ref>& items = pickle[pickle.root].items;
  ASSERT_EQ(items.size(), 6U);
  EXPECT_EQ(pickle[items[0]].kind, Kind::kSet);
  EXPECT_EQ(pickle[items[0]].items.size(), 2U);
  EXPECT_EQ(pickle[items[1]].items.size(), 1U);
  EXPECT_EQ(pickle[items[2]].text, "\x00\xff"s);
  EXPECT_EQ(pickle[items[3]].text, "z");
  EXPECT_EQ(pickle[items[4]].text, "y");
  EXPECT_EQ(pickle[items[5]].text, "");
  const std::string of_dict = "\x80\x02"s + "ccollections\ndefaultdict\ncmine\nf\n\x85R(U\x01"s + "aK\x01u."s;
  const Pickle dict = parse(of_dict, {});
  ASSERT_NE(dict.find(dict[dict.root], "a"), nullptr) << "a defaultdict keeps its items";
}

TEST(Pickle, NothingIsCalled) {
  const std::string bytes = "\x80\x02"s + "ctorch\nFloatStorage\nK\x07\x85R."s;
  const Pickle pickle = parse(bytes, kAllowed);
  const Value& call = pickle[pickle.root];
  ASSERT_EQ(call.kind, Kind::kCall);
  EXPECT_EQ(pickle[call.items[0]].text, "torch.FloatStorage");
}

TEST(Pickle, MalformedOnesSayWhatIsWrong) {
  const std::string start = "\x80\x02"s;
  EXPECT_THAT(refusal(""), HasSubstr("cut short"));
  for (std::size_t size = 1; size < kPlain.size(); ++size) {
    EXPECT_NE(refusal(kPlain.substr(0, size)), "it was read") << size;
  }
  EXPECT_THAT(refusal("\x80\x01."s), HasSubstr("protocol 1"));
  EXPECT_THAT(refusal(start + "X\xff\xff\xff\xff"s), HasSubstr("cut short"));
  EXPECT_THAT(refusal(start + "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"s), HasSubstr("cut short"));
  EXPECT_THAT(refusal(start + "0."s), HasSubstr("isn't there"));
  EXPECT_THAT(refusal(start + "N(0."s), HasSubstr("isn't there")) << "below a mark";
  EXPECT_THAT(refusal(start + "Nt."s), HasSubstr("mark"));
  EXPECT_THAT(refusal(start + "NN."s), HasSubstr("left over"));
  EXPECT_THAT(refusal(start + "h\x05."s), HasSubstr("value 5"));
  EXPECT_THAT(refusal(start + "](NNu."s), HasSubstr("container"));
  EXPECT_THAT(refusal(start + "}(Nu."s), HasSubstr("without a value"));
  EXPECT_THAT(refusal(start + "N)R."s), HasSubstr("no function"));
  EXPECT_THAT(refusal(start + "cmine\nf\nNR."s), HasSubstr("without arguments"));
  EXPECT_THAT(refusal(start + "N)}\x92."s), HasSubstr("something unknown"));
  EXPECT_THAT(refusal(start + "](N\x90."s), HasSubstr("container"));
  EXPECT_THAT(refusal(start + "B\xff\xff\xff\xff"s), HasSubstr("cut short"));
  EXPECT_THAT(refusal(start + "\x8e\xff\xff\xff\xff\xff\xff\xff\xff"s), HasSubstr("cut short"));
  EXPECT_THAT(refusal(start + "K\x01}b."s), HasSubstr("has none"));
  EXPECT_THAT(refusal(start + "ccollections\nOrderedDict\nK\x01\x85R."s), HasSubstr("pairs"));
  EXPECT_THAT(refusal(start + "\xf0."s), AllOf(HasSubstr("0xf0"), HasSubstr("byte 2")));
  EXPECT_THAT(refusal("\x80\x02"s + "i"s), HasSubstr("0x69")) << "INST would import";
}

TEST(Pickle, EndlessNestingAndEndlessValuesEnd) {
  EXPECT_THAT(refusal("\x80\x02"s + times(3'000'000, "(")), HasSubstr("nested"));
  EXPECT_THAT(refusal("\x80\x02"s + times(3'000'000, "]")), HasSubstr("nested"));
  EXPECT_THAT(refusal("\x80\x02"s + times(3'000'000, "]0")), HasSubstr("values"));
  EXPECT_THAT(refusal("\x80\x02]q\x00"s + times(3'000'000, "h\x00"s)), HasSubstr("nested"));
  const Pickle deep = parse("\x80\x02"s + times(500'000, "]") + times(499'999, "a") + ".", {});
  EXPECT_EQ(deep[deep.root].items.size(), 1u) << "deep alone is no harm";
}

// One list of 1000 pairs, made into an OrderedDict again and again.
TEST(Pickle, SharedListsDoNotMultiply) {
  std::string bytes = "\x80\x02]q\x00("s + times(1000, "NN\x86"s) + "e0"s;
  bytes += "("s + times(100'000, "ccollections\nOrderedDict\nh\x00\x85R"s) + "l."s;
  EXPECT_THAT(refusal(bytes), HasSubstr("too many OrderedDicts"));
}

}  // namespace
}  // namespace evener::weights::pickle
