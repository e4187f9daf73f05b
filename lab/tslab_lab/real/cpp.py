"""The C++ source that the compiler is measured on: templates over templates, and what the standard library brings."""

_HEAD = """\
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N> struct Fibonacci { static constexpr long value = Fibonacci<N - 1>::value + Fibonacci<N - 2>::value; };
template <> struct Fibonacci<0> { static constexpr long value = 0; };
template <> struct Fibonacci<1> { static constexpr long value = 1; };

template <class... Parts> struct Visitor : Parts... { using Parts::operator()...; };
template <class... Parts> Visitor(Parts...) -> Visitor<Parts...>;

template <int Kind, class Key, class Value> class Store {
  public:
    void put(const Key &key, Value value) { rows_[key].push_back(std::move(value)); }
    template <class Function> auto each(Function function) const {
        std::vector<decltype(function(std::declval<const Key &>(), std::declval<const Value &>()))> found;
        for (const auto &[key, values] : rows_)
            for (const auto &value : values)
                found.push_back(function(key, value));
        std::sort(found.begin(), found.end());
        return found;
    }

  private:
    std::map<Key, std::vector<Value>> rows_;
};
"""

_PART = """
struct Thing{n} {{ std::string name; int weight = {n}; }};
using Any{n} = std::variant<int, std::string, Thing{n}, std::tuple<int, Thing{n}>>;
std::string show{n}(const Any{n} &any) {{
    return std::visit(Visitor{{[](int number) {{ return std::to_string(number + Fibonacci<{depth}>::value); }},
                              [](const std::string &text) {{ return text; }},
                              [](const Thing{n} &thing) {{ return thing.name; }},
                              [](const std::tuple<int, Thing{n}> &both) {{ return std::get<1>(both).name; }}}},
                      any);
}}
std::vector<std::string> work{n}(std::function<bool(const Thing{n} &)> wanted) {{
    Store<{n}, std::string, std::shared_ptr<Thing{n}>> store;
    std::unordered_map<int, Thing{n}> index;
    for (int i = 0; i < 100; i++) {{
        index[i * {n}] = Thing{n}{{std::to_string(i), i}};
        if (wanted(index[i * {n}]))
            store.put("key " + std::to_string(i % 7), std::make_shared<Thing{n}>(index[i * {n}]));
    }}
    return store.each([](const std::string &key, const auto &thing) {{ return key + show{n}(*thing); }});
}}
"""


def source(parts: int) -> str:
    return _HEAD + "".join(_PART.format(n=n, depth=20 + n) for n in range(1, parts + 1))
