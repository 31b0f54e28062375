CREATE TABLE `message` (
          `id` text PRIMARY KEY,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_message_session_id_session_id_fk` FOREIGN KEY (`session_id`) REFERENCES `session`(`id`) ON DELETE CASCADE
        );
INSERT INTO "message" VALUES('msg_1ed09ea50001y5Vy6UnpcL1vwT','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978212432,1794978214243,'{"role":"user","time":{"created":1794978212432},"agent":"build","model":{"providerID":"fake","modelID":"smart-1"},"summary":{"diffs":[{"file":"main.py","patch":"Index: main.py\n===================================================================\n--- main.py\t\n+++ main.py\t\n@@ -1,6 +1,6 @@\n def greet(name):\n-    return f\"Hello, {name}!\"\n+    return f\"Hi, {name}!\"\n \n \n if __name__ == \"__main__\":\n     print(greet(\"world\"))\n","additions":1,"deletions":1,"status":"modified"},{"file":"notes.txt","patch":"Index: notes.txt\n===================================================================\n--- notes.txt\t\n+++ notes.txt\t\n@@ -0,0 +1,2 @@\n+first line\n+2nd line\n","additions":2,"deletions":0,"status":"added"}]}}');
INSERT INTO "message" VALUES('msg_1ed09ece4001X6ns5IuaQerT6m','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213092,1794978213757,'{"parentID":"msg_1ed09ea50001y5Vy6UnpcL1vwT","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1794978213092,"completed":1794978213756},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1ed09ef7e001xtreFQpwWUHSKk','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213758,1794978213914,'{"parentID":"msg_1ed09ea50001y5Vy6UnpcL1vwT","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1794978213758,"completed":1794978213913},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1ed09f01b001I3oegTEqiiZuNe','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213915,1794978214046,'{"parentID":"msg_1ed09ea50001y5Vy6UnpcL1vwT","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1794978213915,"completed":1794978214046},"finish":"tool-calls"}');
INSERT INTO "message" VALUES('msg_1ed09f09f001i7Z16Rbr7U0uOs','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978214047,1794978214221,'{"parentID":"msg_1ed09ea50001y5Vy6UnpcL1vwT","role":"assistant","mode":"build","agent":"build","path":{"cwd":"/workspace/demo","root":"/workspace/demo"},"cost":0.001575,"tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"modelID":"smart-1","providerID":"fake","time":{"created":1794978214047,"completed":1794978214221},"finish":"stop"}');
CREATE TABLE `part` (
          `id` text PRIMARY KEY,
          `message_id` text NOT NULL,
          `session_id` text NOT NULL,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `data` text NOT NULL,
          CONSTRAINT `fk_part_message_id_message_id_fk` FOREIGN KEY (`message_id`) REFERENCES `message`(`id`) ON DELETE CASCADE
        );
INSERT INTO "part" VALUES('prt_1ed09ea55001X4TUqPNTXa1F4j','msg_1ed09ea50001y5Vy6UnpcL1vwT','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978212439,1794978212440,'{"type":"text","text":"Create notes.txt and change the greeting."}');
INSERT INTO "part" VALUES('prt_1ed09eef70014EWC0KBshMkMIp','msg_1ed09ece4001X6ns5IuaQerT6m','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213623,1794978213624,'{"snapshot":"cab3871ecc82baefac11d6362502ea9e4ef082ba","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ed09eefa0019wnWknuDsqI6l6','msg_1ed09ece4001X6ns5IuaQerT6m','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213626,1794978213704,'{"type":"text","text":"Writing a file.","time":{"start":1794978213626,"end":1794978213704}}');
INSERT INTO "part" VALUES('prt_1ed09ef0c001yx6ZIOIlQEPbSd','msg_1ed09ece4001X6ns5IuaQerT6m','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213644,1794978213700,'{"type":"tool","tool":"write","callID":"call_0005_0","state":{"status":"completed","input":{"filePath":"/workspace/demo/notes.txt","content":"first line\nsecond line\n"},"output":"Wrote file successfully.","metadata":{"diagnostics":{},"filepath":"/workspace/demo/notes.txt","exists":false,"truncated":false},"title":"notes.txt","time":{"start":1794978213687,"end":1794978213699}}}');
INSERT INTO "part" VALUES('prt_1ed09ef64001sdLRQBbwsGbsLQ','msg_1ed09ece4001X6ns5IuaQerT6m','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213732,1794978213733,'{"reason":"tool-calls","snapshot":"5c3652b5c55b46869d18ee8746c7881ceea386f1","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
INSERT INTO "part" VALUES('prt_1ed09ef790018h8MZbW8DqZ5ZU','msg_1ed09ece4001X6ns5IuaQerT6m','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213753,1794978213754,'{"type":"patch","hash":"cab3871ecc82baefac11d6362502ea9e4ef082ba","files":["/workspace/demo/notes.txt"]}');
INSERT INTO "part" VALUES('prt_1ed09efa40014C1DsVKphrxFQ6','msg_1ed09ef7e001xtreFQpwWUHSKk','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213796,1794978213797,'{"snapshot":"5c3652b5c55b46869d18ee8746c7881ceea386f1","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ed09efa60016UkvfP9DEinDDL','msg_1ed09ef7e001xtreFQpwWUHSKk','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213798,1794978213872,'{"type":"tool","tool":"edit","callID":"call_0006_0","state":{"status":"completed","input":{"filePath":"/workspace/demo/notes.txt","oldString":"second line","newString":"2nd line"},"output":"Edit applied successfully.","metadata":{"diagnostics":{},"diff":"Index: /workspace/demo/notes.txt\n===================================================================\n--- /workspace/demo/notes.txt\n+++ /workspace/demo/notes.txt\n@@ -1,2 +1,2 @@\n first line\n-second line\n+2nd line\n","filediff":{"file":"/workspace/demo/notes.txt","patch":"Index: /workspace/demo/notes.txt\n===================================================================\n--- /workspace/demo/notes.txt\n+++ /workspace/demo/notes.txt\n@@ -1,2 +1,2 @@\n first line\n-second line\n+2nd line\n","additions":1,"deletions":1},"truncated":false},"title":"notes.txt","time":{"start":1794978213861,"end":1794978213872}}}');
INSERT INTO "part" VALUES('prt_1ed09f00e001BGKO6HCoxdXMS3','msg_1ed09ef7e001xtreFQpwWUHSKk','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213902,1794978213903,'{"reason":"tool-calls","snapshot":"669e31563b9f1aac45cc70cccc467ff700bf5181","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
INSERT INTO "part" VALUES('prt_1ed09f0180011Lxz7Zz5YJ9KX3','msg_1ed09ef7e001xtreFQpwWUHSKk','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213912,1794978213913,'{"type":"patch","hash":"5c3652b5c55b46869d18ee8746c7881ceea386f1","files":["/workspace/demo/notes.txt"]}');
INSERT INTO "part" VALUES('prt_1ed09f03c0015DDRoG7pq2Bui7','msg_1ed09f01b001I3oegTEqiiZuNe','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213948,1794978213950,'{"snapshot":"669e31563b9f1aac45cc70cccc467ff700bf5181","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ed09f03f001LGl2YgBCiKwFNr','msg_1ed09f01b001I3oegTEqiiZuNe','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978213951,1794978213996,'{"type":"tool","tool":"edit","callID":"call_0007_0","state":{"status":"completed","input":{"filePath":"/workspace/demo/main.py","oldString":"Hello, ","newString":"Hi, "},"output":"Edit applied successfully.","metadata":{"diagnostics":{},"diff":"Index: /workspace/demo/main.py\n===================================================================\n--- /workspace/demo/main.py\n+++ /workspace/demo/main.py\n@@ -1,6 +1,6 @@\n def greet(name):\n-    return f\"Hello, {name}!\"\n+    return f\"Hi, {name}!\"\n \n \n if __name__ == \"__main__\":\n     print(greet(\"world\"))\n","filediff":{"file":"/workspace/demo/main.py","patch":"Index: /workspace/demo/main.py\n===================================================================\n--- /workspace/demo/main.py\n+++ /workspace/demo/main.py\n@@ -1,6 +1,6 @@\n def greet(name):\n-    return f\"Hello, {name}!\"\n+    return f\"Hi, {name}!\"\n \n \n if __name__ == \"__main__\":\n     print(greet(\"world\"))\n","additions":1,"deletions":1},"truncated":false},"title":"main.py","time":{"start":1794978213991,"end":1794978213995}}}');
INSERT INTO "part" VALUES('prt_1ed09f08d001d0ryg7JAgVfyUl','msg_1ed09f01b001I3oegTEqiiZuNe','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978214029,1794978214030,'{"reason":"tool-calls","snapshot":"cb35060a0231e82e95bf5d7823bff0c2084e268e","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
INSERT INTO "part" VALUES('prt_1ed09f09c001JVawOnJ4faMD19','msg_1ed09f01b001I3oegTEqiiZuNe','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978214044,1794978214045,'{"type":"patch","hash":"669e31563b9f1aac45cc70cccc467ff700bf5181","files":["/workspace/demo/main.py"]}');
INSERT INTO "part" VALUES('prt_1ed09f0bd001UHJcZGSzosmbJW','msg_1ed09f09f001i7Z16Rbr7U0uOs','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978214077,1794978214078,'{"snapshot":"cb35060a0231e82e95bf5d7823bff0c2084e268e","type":"step-start"}');
INSERT INTO "part" VALUES('prt_1ed09f0bf001eqKvQk9OMlgNf0','msg_1ed09f09f001i7Z16Rbr7U0uOs','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978214079,1794978214193,'{"type":"text","text":"Both files are changed.","time":{"start":1794978214079,"end":1794978214192}}');
INSERT INTO "part" VALUES('prt_1ed09f13e001o8233ksU80jxRD','msg_1ed09f09f001i7Z16Rbr7U0uOs','ses_e12f615e5ffeHUxdB7JWBtS3CG',1794978214206,1794978214207,'{"reason":"stop","snapshot":"cb35060a0231e82e95bf5d7823bff0c2084e268e","type":"step-finish","tokens":{"total":1245,"input":200,"output":45,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.001575}');
CREATE TABLE `session` (
          `id` text PRIMARY KEY,
          `project_id` text NOT NULL,
          `workspace_id` text,
          `parent_id` text,
          `slug` text NOT NULL,
          `directory` text NOT NULL,
          `path` text,
          `title` text NOT NULL,
          `version` text NOT NULL,
          `share_url` text,
          `summary_additions` integer,
          `summary_deletions` integer,
          `summary_files` integer,
          `summary_diffs` text,
          `metadata` text,
          `cost` real DEFAULT 0 NOT NULL,
          `tokens_input` integer DEFAULT 0 NOT NULL,
          `tokens_output` integer DEFAULT 0 NOT NULL,
          `tokens_reasoning` integer DEFAULT 0 NOT NULL,
          `tokens_cache_read` integer DEFAULT 0 NOT NULL,
          `tokens_cache_write` integer DEFAULT 0 NOT NULL,
          `revert` text,
          `permission` text,
          `agent` text,
          `model` text,
          `time_created` integer NOT NULL,
          `time_updated` integer NOT NULL,
          `time_compacting` integer,
          `time_archived` integer,
          CONSTRAINT `fk_session_project_id_project_id_fk` FOREIGN KEY (`project_id`) REFERENCES `project`(`id`) ON DELETE CASCADE
        );
INSERT INTO "session" VALUES('ses_e12f615e5ffeHUxdB7JWBtS3CG','ae972667ce112f3608ab8ea27fc0567a2de7ecce',NULL,NULL,'hidden-panda','/workspace/demo','','Demo session title','1.18.33',NULL,0,0,0,NULL,NULL,0.0063,800,180,0,4000,0,NULL,NULL,'build','{"id":"smart-1","providerID":"fake","variant":"default"}',1794978212378,1794978214224,NULL,NULL);
