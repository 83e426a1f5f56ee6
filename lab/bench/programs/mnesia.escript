%%! -mnesia dump_log_write_threshold 20000 -mnesia dump_log_time_threshold 10000
%% Changes rows of two tables in the directory given: subscribers on disk alone, and offers, which memory has, too.
-mode(compile).

main([Directory]) ->
    rand:seed(exsss, 1),
    application:set_env(mnesia, dir, Directory),
    ok = mnesia:create_schema([node()]),
    ok = mnesia:start(),
    {atomic, ok} = mnesia:create_table(subscriber, [{disc_only_copies, [node()]}]),
    {atomic, ok} = mnesia:create_table(offer, [{disc_copies, [node()]}]),
    ok = mnesia:wait_for_tables([subscriber, offer], 10000),
    Noise = rand:bytes(1 bsl 20),
    work(Noise, 0, 40000, 900000),
    stopped = mnesia:stop().

work(_, At, Rows, Changes) when At >= Rows + Changes -> ok;
work(Noise, At, Rows, Changes) ->
    {atomic, ok} = mnesia:transaction(fun() -> change(Noise, At, Rows, 20) end),
    work(Noise, At + 20, Rows, Changes).

change(_, _, _, 0) -> ok;
change(Noise, At, Rows, Left) ->
    Row = if At < Rows -> At; true -> trunc(Rows * rand:uniform() * rand:uniform()) end,
    %% Of seven one goes; a row's length is its own, a little more or less.
    case rand:uniform(7) of
        1 when At >= Rows -> mnesia:delete({subscriber, Row});
        _ -> mnesia:write({subscriber, Row, part(Noise, 200 + erlang:phash2(Row, 1800) + rand:uniform(200))})
    end,
    case Left rem 4 of
        0 -> mnesia:write({offer, Row rem 20000, part(Noise, 1000)});
        _ -> ok
    end,
    change(Noise, At + 1, Rows, Left - 1).

part(Noise, Length) -> binary:part(Noise, rand:uniform(1 bsl 20 - Length) - 1, Length).
